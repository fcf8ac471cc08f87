"""Two workers under torchrun, one of which comes 30 ms late to the collectives of some steps."""

import json
from pathlib import Path
from statistics import median

import pytest

from sonde.client.collectives import Collectives
from sonde.client.job import Job, open_job
from tests.fakes.perfetto import check_trace
from tests.journeys.sonde_cli import PYTHON, Sonde

DELAY = 0.030
SCRIPT = """
import time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
is_late = dist.get_rank() == 1
model = DistributedDataParallel(torch.nn.Linear(32, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(24):
    if is_late and step < 14:
        time.sleep(0.030)
    optimizer.zero_grad()
    loss = model(torch.ones(4, 32)).mean()
    loss.backward()
    if is_late and step < 14:
        time.sleep(0.030)
    optimizer.step()
    dist.all_reduce(torch.ones(1000))
dist.destroy_process_group()
"""
WINDOWS = (
    *("--profile", "none", "--profile", "operators:start_step=3,num_steps=2"),
    *("--profile", "distributed:start_step=7,num_steps=6"),
    *("--profile", "distributed:start_step=16,num_steps=6"),
)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    sonde = Sonde(tmp_path_factory.mktemp("late"))
    (sonde.folder / "script.py").write_text(SCRIPT)
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    words = ("run", "--quiet", "--name", "job", *WINDOWS, "--", *torchrun, "script.py")
    done = sonde.run(*words, timeout=170)
    assert done.returncode == 0, done.stderr.decode()
    return open_job(str(sonde.job_folder("job")))


def waits(collectives: Collectives, column: str) -> list[float]:
    rows = collectives.to_arrow().to_pylist()
    return [row[column] for row in rows if row["worker"] == 0]


def test_a_late_worker_is_named_and_what_it_costs_the_other_is_right(job: Job) -> None:
    collectives = job.collectives(start_step=8, end_step=13)
    rows = collectives.to_arrow().to_pylist()
    assert [row["step"] for row in rows] == [*range(8, 13)] * 2
    assert {(row["operation"], row["bytes"]) for row in rows} == {("all_reduce", 4000.0)}
    assert {row["collective"] for row in rows} == set(range(5)), "each call has its counterpart"
    # a busy machine adds to a wait, and takes nothing from it
    assert min(waits(collectives, "waiting_seconds")) == pytest.approx(DELAY, abs=0.005)
    assert min(waits(collectives, "exposed_seconds")) == pytest.approx(DELAY, abs=0.008)
    assert collectives.slow_worker == 1
    assert "worker 1 is slow" in repr(collectives)


def test_when_both_come_together_they_wait_little(job: Job) -> None:
    collectives = job.collectives(start_step=17)
    assert len(collectives) == 10
    assert median(waits(collectives, "waiting_seconds")) < DELAY / 2


def test_collectives_that_ddp_starts_itself_are_in_the_trace(job: Job) -> None:
    collectives = job.collectives(start_step=3, end_step=5)
    rows = [row for row in collectives.to_arrow().to_pylist() if row["source"] == "gloo"]
    assert {row["worker"] for row in rows} == {0, 1}
    waited = [row["waiting_seconds"] for row in rows if row["worker"] == 0]
    assert min(waited) < DELAY + 0.008
    assert max(waited) > DELAY - 0.005
    assert collectives.slow_worker == 1


def test_its_timeline_is_a_trace_that_perfetto_opens(job: Job, tmp_path: Path) -> None:
    target = job.timeline(start_step=3, end_step=9).save(tmp_path / "merged.json")
    document = json.loads(target.read_text())
    check_trace(document)
    events = document["traceEvents"]
    threads = {one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert {"steps", "phases", "profile windows", "collectives"} <= threads
    assert {"operator", "collective", "phase", "step"} <= {one.get("cat") for one in events}
    assert [one for one in events if one["ph"] == "C"]
