"""A function that becomes slow during training is named, and only then."""

from sonde.client.job import open_job
from tests.journeys.sonde_cli import Sonde

HELPER = """import time


def augment(inputs, is_slow):
    if is_slow:
        time.sleep(0.03)
    return inputs * 2
"""
TRAIN = """
import torch
from helper import augment

torch.set_num_threads(1)
model = torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(60):
    outputs = model(augment(torch.ones(256, 64), step >= 40))
    optimizer.zero_grad()
    outputs.pow(2).mean().backward()
    optimizer.step()
"""
WINDOWS = (
    "none",
    "python:start_step=3,num_steps=30",
    "python:start_step=42,num_steps=4",
    "python:start_step=50,num_steps=3,profiler=cprofile",
)


def test_a_sleep_in_a_helper_is_named_with_its_line(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    (sonde.folder / "helper.py").write_text(HELPER)
    (sonde.folder / "train.py").write_text(TRAIN)
    wishes = [word for entry in WINDOWS for word in ("--profile", entry)]
    done = sonde.run("run", "--quiet", "--name", "job", *wishes, *torch_python, "train.py")
    assert done.returncode == 0
    job = open_job(str(sonde.job_folder("job")))
    line = 1 + HELPER.splitlines().index("        time.sleep(0.03)")
    planted = f"{sonde.folder.resolve() / 'helper.py'}:{line}"

    healthy = job.python("stacks", steps=(3, 40)).by("function")
    assert healthy.rows
    assert planted not in {row.where for row in healthy.rows}

    slowest = job.python("stacks", steps=(40, None)).top().rows[0]
    assert (slowest.name, slowest.where) == ("augment", planted)
    assert slowest.self_percent > 50

    counted = job.python("cprofile").top().rows[0]
    assert (counted.name, counted.count, counted.where) == ("time.sleep", 3, planted)

    shown = sonde.run("python", "job", "--profiler", "stacks", capture_output=True)
    assert f"helper.py:{line}" in shown.stdout.decode()
