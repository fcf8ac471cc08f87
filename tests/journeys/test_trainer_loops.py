"""Trainers built on PyTorch: modes, checkpoints and logged metrics."""

import json
from collections import Counter

from sonde.client.job import Job, open_job
from tests.journeys.scripts import Scripts
from tests.journeys.sonde_cli import Sonde

MODULE = """
import warnings, logging, torch, pytorch_lightning as pl
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
    def training_step(self, batch, number):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log_dict({"a": loss, "b": 2 * loss}, on_step=True, on_epoch=True, logger=False)
        return {"loss": loss, "more": 1}
    def validation_step(self, batch, number):
        self.log("checked", self.layer(batch[0]).mean())
    def predict_step(self, batch, number):
        return self.layer(batch[0])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

data = DataLoader(TensorDataset(torch.ones(8, 4)), batch_size=2)
quiet = dict(enable_progress_bar=False, enable_model_summary=False, logger=False)
trainer = pl.Trainer(max_epochs=1, accelerator="cpu", num_sanity_val_steps=1, **quiet)
model = Model()
trainer.fit(model, data, data)
trainer.validate(model, data, verbose=False)
trainer.predict(model, data)
"""

TRAINER = """
import torch
from transformers import Trainer, TrainingArguments
from transformers.utils import logging
logging.disable_progress_bar()

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels=None):
        output = self.layer(x)
        return {"loss": (output - labels).pow(2).mean(), "logits": output}

data = [{"x": torch.ones(4) * n, "labels": torch.ones(1)} for n in range(8)]
arguments = TrainingArguments(
    output_dir="out", max_steps=4, per_device_train_batch_size=2, save_strategy="steps",
    save_steps=2, logging_steps=2, report_to=[], use_cpu=True, disable_tqdm=True,
)
trainer = Trainer(model=Model(), args=arguments, train_dataset=data)
trainer.train()
trainer.predict(data)
"""

REPLICA = """
import os, torch
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
import torch.distributed.checkpoint as checkpoint
for step in range(120):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).mean().backward()
    optimizer.step()
    if step == 60:
        checkpoint.save(model.state_dict(), checkpoint_id="saved")
torch.distributed.destroy_process_group()
"""


def watch(sonde: Sonde, torch_python: tuple[str, ...], code: str) -> Job:
    (sonde.folder / "script.py").write_text(code)
    words = ("run", "--quiet", "--name", "job", "--", *torch_python, "script.py")
    done = sonde.run(*words, timeout=170)
    assert done.returncode == 0, done.stderr.decode()
    return open_job(str(sonde.job_folder("job")))


def phases(job: Job) -> "Counter[str]":
    rows = job.events(category="phase").to_arrow().to_pylist()
    return Counter(row["name"] for row in rows)


def numbers(job: Job, source: str) -> dict[tuple[str, str], list[tuple[int, float]]]:
    result: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in job.scalars("*", source=source).to_arrow().to_pylist():
        result.setdefault((row["name"], row["mode"]), []).append((row["step"], row["value"]))
    return result


def test_lightning_is_recorded_under_its_other_package_name(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    job = watch(sonde, torch_python, MODULE)
    summary = job.summary
    assert summary["steps"] == {"train": 4, "eval": 1 + 4 + 4, "predict": 4}
    assert phases(job)["checkpoint"] == 1
    result = numbers(job, "lightning")
    assert [step for step, _ in result["a_step", "train"]] == [0, 1, 2, 3]
    losses = [row["value"] for row in job.scalars("loss").to_arrow().to_pylist()]
    assert [value for _, value in result["a_step", "train"]] == losses
    assert len(result["a_epoch", "train"]) == 1
    assert [step for step, _ in result["checked", "eval"]] == [4, 8]
    versions = json.loads(
        (sonde.job_folder("job") / "workers/0/attempt-001.0/start.json").read_text()
    )["versions"]
    assert {"torch", "pytorch_lightning"} <= versions.keys()


def test_lightning_metrics_are_recorded_at_their_step(scripts: Scripts) -> None:
    job = scripts.job("lightning_module")
    result = numbers(job, "lightning")
    assert [step for step, _ in result["train_loss", "train"]] == list(range(8))
    outcome = scripts.recorded("lightning_module")
    assert result["val_loss", "eval"][-1][1] == outcome.printed("val_loss")[-1]


def test_predictions_and_checkpoints_of_the_trainer_are_recorded(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    job = watch(sonde, torch_python, TRAINER)
    assert job.summary["steps"] == {"train": 4, "predict": 1}
    assert phases(job)["checkpoint"] == 2
    result = numbers(job, "huggingface")
    assert [step for step, _ in result["loss", "train"]] == [1, 3]
    assert ("learning_rate", "train") in result


def test_the_communication_time_of_replicas_is_recorded(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    job = watch(sonde, torch_python, REPLICA)
    result = numbers(job, "hook")
    for name in ("ddp/forward_seconds", "ddp/backward_seconds", "ddp/communication_seconds"):
        steps = [step for step, _ in result[name, "train"]]
        assert steps[:10] == list(range(1, 11))  # DDP measures only the first steps
        assert all(0 < value < 100 for _, value in result[name, "train"])
    assert phases(job)["checkpoint"] == 1, "also by a module that is imported late"
