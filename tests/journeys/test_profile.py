"""A running job is profiled on request."""

import json

from sonde.client.job import open_job
from sonde.clock import NANOSECONDS
from sonde.records.request import Reply, Request
from sonde.store.backends import open_backend
from sonde.store.facts import decode_facts
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import Sonde

TRAINING = """
import pathlib, time
import torch

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while not pathlib.Path("end").exists():
    model(torch.ones(8, 64)).square().mean().backward()
    optimizer.step()
    time.sleep(0.005)
    pathlib.Path("ready").touch()
"""


def test_a_running_job_is_profiled_promptly_and_reports_the_steps(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    launcher = sonde.start(
        *("run", "--name", "job", "--profile", "none", *torch_python, "-c", TRAINING),
    )
    assert eventually((sonde.folder / "ready").exists)
    done = sonde.run("profile", "job", "--steps", "3", "--kinds", "python", "--json")
    assert done.returncode == 0, done.stderr
    [(worker, reply)] = json.loads(done.stdout)["replies"].items()
    assert (worker, reply["done"]) == ("worker-0", True)
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 0

    job = open_job(str(sonde.job_folder("job")))
    [window] = job.events(category="window").to_arrow().to_pylist()
    first = window["step"]
    assert reply["message"] == f"python in steps {first}–{first + 2}"
    is_profiled = job.steps().to_arrow()["profiled"].to_pylist()
    assert [step for step, entry in enumerate(is_profiled) if entry] == [
        first,
        first + 1,
        first + 2,
    ]
    [profile] = job.summary["profiles"]
    assert (profile["kind"], profile["first_step"], profile["workers"]) == ("python", first, 1)

    backend = open_backend(str(sonde.job_folder("job")))
    [requested] = backend.entries("control/requests")
    [answered] = backend.entries("control/replies")
    requested_ns = decode_facts(Request, backend.read(requested.key), requested.key).time_ns
    answered_ns = decode_facts(Reply, backend.read(answered.key), answered.key).time_ns
    # requests are polled every 250 ms; a busy machine takes longer
    assert (answered_ns - requested_ns) / NANOSECONDS < 60
