"""Recorded results of evaluations match the output of the training script."""

import re

import pytest

from tests.journeys.sonde_cli import PYTHON, Sonde

TASK = """
import copy, torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

class Task(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
    def forward(self, points, labels):
        return cross_entropy(self.model(points), labels)

def validate(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for points, labels in loader:
            total += cross_entropy(model(points), labels, reduction="sum").item()
    return total / len(loader.dataset)

points = torch.randn(300, 6)
labels = (points.sum(1) > 0).long()
train_set = TensorDataset(points[:200], labels[:200])
val_set = TensorDataset(points[200:], labels[200:])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)
task = Task(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)))
ema = copy.deepcopy(task.model).requires_grad_(False)
optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
for epoch in range(3):
    task.train()
    for batch in train_loader:
        optimizer.zero_grad()
        task(*batch).backward()
        optimizer.step()
        with torch.no_grad():
            for average, new in zip(ema.parameters(), task.model.parameters()):
                average.lerp_(new, 0.1)
    print("result train (evaluated)", validate(task.model, DataLoader(train_set, batch_size=64)))
    print("result validation", validate(task.model, val_loader))
    print("result validation (ema)", validate(ema, val_loader), flush=True)
"""

TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.utils import logging
logging.disable_progress_bar()
torch.manual_seed(0)
config = GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)

def sentences(count):
    found = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": row, "labels": row} for row in found]

arguments = TrainingArguments(
    output_dir="out", max_steps=4, per_device_train_batch_size=4, per_device_eval_batch_size=8,
    gradient_accumulation_steps=2, learning_rate=0.01, eval_strategy="steps", eval_steps=2,
    save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, ddp_backend="gloo",
)
model = GPT2LMHeadModel(config)
Trainer(
    model=model, args=arguments, train_dataset=sentences(64), eval_dataset=sentences(32)
).train()
"""

_TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def run(sonde: Sonde, code: str, *launcher: str) -> str:
    (sonde.folder / "train.py").write_text(code)
    words = ("run", "--quiet", "--no-report", "--no-rules", "--name", "job", "--")
    done = sonde.run(*words, *launcher, "train.py", timeout=170)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_model_and_its_moving_average_have_separate_results(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    output = run(sonde, TASK, *torch_python)
    printed = re.findall(r"^result (.+) (\S+)$", output, re.MULTILINE)
    assert len(printed) == 9

    result = sonde.status()["evaluations"]

    assert [entry["name"] for entry in result] == [name for name, _ in printed]
    expected = [float(value) for _, value in printed]
    assert [entry["loss"] for entry in result] == pytest.approx(expected, rel=1e-6)
    assert [entry["step"] for entry in result[::3]] == [13, 26, 39]
    assert [entry["samples"] for entry in result[:3]] == [200, 100, 100]
    line = TASK[: TASK.index("validate(task.model, val_loader)")].count("\n") + 1
    assert result[1]["data"] == f"loader at train.py:{line}"


def test_results_of_the_trainer_on_two_workers_match_its_output(sonde: Sonde) -> None:
    output = run(sonde, TRAINER, *_TORCHRUN)
    printed = [float(entry) for entry in re.findall(r"'eval_loss': '?([\d.]+)", output)]
    assert len(printed) == 2

    result = sonde.status()["evaluations"]

    assert [(entry["name"], entry["step"], entry["samples"]) for entry in result] == [
        ("validation", 2, 32),
        ("validation", 4, 32),
    ]
    assert [entry["loss"] for entry in result] == pytest.approx(printed, abs=1e-3)
    reported = [entry["metrics"]["eval_loss"] for entry in result]
    assert [entry["loss"] for entry in result] == pytest.approx(reported, rel=1e-5)
