"""Operators are recorded as planned and decoded during the training, in real processes."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from sonde.read.profiles import operations_of, phases_of, windows_of
from sonde.read.workers import WorkerReader, read_lives
from sonde.store.backends import Backend, open_backend
from sonde.store.tables import to_numpy
from sonde.store.waiting_traces import waiting_traces
from tests.fakes.eventually import eventually
from tests.fakes.s3 import s3_server, use_s3_server
from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment

BUCKET = "sonde-operators"

TRAINING = """
import pathlib, sys, time
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 64)
        self.head = torch.nn.Linear(64, 1)

    def forward(self, batch):
        return self.head(self.body(batch).relu())

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(8):
    model(torch.ones(8, 64)).square().mean().backward()
    optimizer.step()
while len(sys.argv) > 1 and not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
"""


def operations(backend: Backend) -> list[dict[str, Any]]:
    """Return operations with the training phase in which they began."""
    reader = WorkerReader(backend, 0, read_lives(backend, ["0"]))
    table, phases = operations_of(reader), phases_of(reader)
    paths = phases.at(to_numpy(table["start_ns"])).tolist()
    names = [phases.names[path] if path >= 0 else "" for path in paths]
    return [{**row, "phase": name} for row, name in zip(table.to_pylist(), names, strict=True)]


def check(backend: Backend) -> None:
    rows = [row for row in operations(backend) if row["category"] == "operator"]
    forward = [row for row in rows if row["name"] == "aten::addmm"]
    assert [(row["module"], row["phase"]) for row in forward] == [
        ("body", "forward"),
        ("head", "forward"),
    ]
    backward = {row["module"]: row["phase"] for row in rows if row["name"] == "AddmmBackward0"}
    assert backward == {"body": "backward", "head": "backward"}
    assert not list(waiting_traces(backend))
    assert not [entry for entry in backend.entries("workers/0/profiles") if "oper" in entry.key]
    reader = WorkerReader(backend, 0, read_lives(backend, ["0"]))
    (window,) = [
        profile_window
        for profile_window in windows_of(reader)
        if profile_window.kind == "operators"
    ]
    assert window.first_step == 5
    for row in rows:
        assert window.start_ns <= row["start_ns"]
        assert row["start_ns"] + row["duration_ns"] <= window.end_ns


@pytest.mark.timeout(400)
def test_a_trace_is_decoded_while_the_job_runs(sonde: Sonde, torch_python: tuple[str, ...]) -> None:
    launcher = sonde.start("run", "--name", "job", *torch_python, "-c", TRAINING, "end")
    backend = open_backend(str(sonde.job_folder("job")))
    assert eventually(lambda: bool(operations(backend)), 240)
    assert launcher.poll() is None
    assert eventually(lambda: not list(waiting_traces(backend)))
    # the training flushes steps, another process decodes traces: either may be first
    assert eventually(lambda: any(row["phase"] for row in operations(backend)))
    check(backend)
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 0
    check(backend)


def test_a_script_that_records_itself_has_its_trace_decoded_at_the_end(sonde: Sonde) -> None:
    begin = "import sonde\nsonde.start(name='job', quiet=True)\n"
    done = subprocess.run(
        [PYTHON, "-c", begin + TRAINING],
        cwd=sonde.folder,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check(open_backend(str(sonde.job_folder("job"))))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server(BUCKET) as port:
        use_s3_server(port, monkeypatch)
        yield f"s3://{BUCKET}/jobs"


def test_traces_reach_an_object_store_and_are_decoded_there(
    sonde: Sonde, torch_python: tuple[str, ...], bucket: str
) -> None:
    words = ("run", "--store", bucket, "--name", "job")
    done = sonde.run(*words, *torch_python, "-c", TRAINING)
    assert done.returncode == 0
    check(open_backend(f"{bucket}/job"))
