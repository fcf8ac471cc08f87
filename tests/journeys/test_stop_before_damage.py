"""On request, a job stops before non-finite gradients reach the weights."""

import json
import math
import subprocess
from pathlib import Path

import pytest

from sonde.client.job import open_job
from sonde.store.backends import open_backend
from sonde.store.format import OBSERVATIONS
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader
from tests.fakes.mail_server import MailServer
from tests.fakes.web_server import WebServer
from tests.journeys.sonde_cli import PYTHON, Sonde

TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
BAD_STEP = 5

# Saves its weights after every step and catches every exception it can.
SCRIPT = f"""
import json, math, os, torch
import torch.distributed as dist
rank = int(os.environ.get("RANK", 0))
if "RANK" in os.environ:
    dist.init_process_group("gloo")
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(10):
        try:
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            if step == {BAD_STEP} and rank == int(os.environ.get("BAD_RANK", 0)):
                model.weight.grad[0, 1] = math.nan
            optimizer.step()
        except Exception:
            pass
        weights = {{"step": step, "weight": model.weight.tolist()}}
        with open(f"weights-{{rank}}.json", "w") as file:
            json.dump(weights, file)
finally:
    open(f"tidied-{{rank}}", "w").close()
"""

pytestmark = pytest.mark.timeout(300)


def run(sonde: Sonde, *launcher: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    (sonde.folder / "script.py").write_text(SCRIPT)
    config = sonde.folder / "careful.toml"
    config.write_text("[save]\nstop_on_non_finite = true\n")
    words = ("run", "--name", "job", "--config", str(config), *launcher, "script.py")
    return sonde.run(*words, env={"OMP_NUM_THREADS": "1", **variables}, timeout=240)


def observations(sonde: Sonde, rank: int) -> list[tuple[str, str, int, float]]:
    backend = open_backend(str(sonde.job_folder("job")))
    reader = FolderReader(backend, worker_folder(rank), OBSERVATIONS)
    reader.refresh()
    rows = reader.rows().to_pylist()
    return [(row["kind"], row["subject"], row["step"], row["value"]) for row in rows]


def weights_left(folder: Path, rank: int) -> int:
    """Return the step whose weights are saved, which must be finite."""
    remaining = json.loads((folder / f"weights-{rank}.json").read_text())
    assert all(math.isfinite(entry) for entry in remaining["weight"][0])
    assert (folder / f"tidied-{rank}").exists()
    return int(remaining["step"])


def test_the_job_stops_with_the_weights_of_the_previous_step(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    done = run(sonde, *torch_python)
    assert done.returncode == 1
    reason = f"non-finite gradients in weight at step {BAD_STEP}"
    assert reason in done.stderr.decode()
    assert weights_left(sonde.folder, 0) == BAD_STEP - 1
    exit_ = sonde.status()["exit"]
    assert (sonde.state(), exit_["reason"]) == ("stopped", "stopped")
    assert exit_["message"] == f"stopped by stop_on_non_finite: {reason}"
    assert ("refused-step", "weight", BAD_STEP, 1.0) in observations(sonde, 0)
    assert len(open_job(str(sonde.job_folder("job"))).losses) == BAD_STEP


def test_all_workers_stop_if_one_of_them_has_bad_gradients(sonde: Sonde) -> None:
    done = run(sonde, *TORCHRUN, BAD_RANK="1")
    assert done.returncode == 1
    assert [weights_left(sonde.folder, rank) for rank in range(2)] == [BAD_STEP - 1] * 2
    assert sonde.state() == "stopped"
    message = sonde.status()["exit"]["message"]
    reason = f"non-finite gradients in weight of worker 1 at step {BAD_STEP}"
    assert message == f"stopped by stop_on_non_finite: {reason}"
    assert ("refused-step", "", BAD_STEP, 1.0) in observations(sonde, 0)
    assert ("refused-step", "weight", BAD_STEP, 1.0) in observations(sonde, 1)


def test_all_actions_of_the_rule_are_performed_after_a_stop_before_damage(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    order = ["stop", "email", "webhook"]
    (sonde.folder / "script.py").write_text(SCRIPT)
    with MailServer() as mail, WebServer() as web:
        (sonde.folder / "sonde.toml").write_text(
            f"""
[rules.ExplodingTensor]
actions = {json.dumps(order)}
[actions.email]
to = "me@example.org"
smtp = "{mail.url}"
[actions.webhook]
url = "{web.url}"
"""
        )
        variables = {"OMP_NUM_THREADS": "1"}
        words = ("run", "--name", "job", "--rules", "ExplodingTensor", *torch_python, "script.py")
        done = sonde.run(*words, env=variables, timeout=240)
    assert done.returncode == 1
    assert weights_left(sonde.folder, 0) == BAD_STEP - 1
    status = sonde.status()
    assert status["exit"]["message"].startswith("stopped by ExplodingTensor: non-finite gradients")
    findings = {entry["rule"]: entry["findings"] for entry in status["rules"]}
    [finding] = findings["ExplodingTensor"]
    assert (finding["severity"], finding["step"]) == ("critical", [BAD_STEP, BAD_STEP])
    assert {entry["action"]: entry["status"] for entry in finding["actions"]} == dict.fromkeys(
        order, "done"
    )
    [envelope], [_] = mail.envelopes, web.received
    assert "The job was stopped before" in envelope.message.get_content()
    assert f"critical: ExplodingTensor: {finding['message'].rstrip('.')}" in done.stderr.decode()
