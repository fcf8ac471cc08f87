"""Two workers, one of which starts the collectives of some steps 100 ms late."""

import fcntl
import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from sonde.client.job import Job, open_job
from sonde.results.collectives import Collectives
from tests.fakes.perfetto import check_trace
from tests.journeys.scripts import TWO_RANKS, Scripts
from tests.journeys.sonde_cli import Sonde

DELAY = 0.100
SCRIPT = """
import time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
other = 1 - dist.get_rank()
is_late = dist.get_rank() == 1
model = DistributedDataParallel(torch.nn.Linear(32, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(24):
    if is_late and step < 14:
        time.sleep(0.100)
    optimizer.zero_grad()
    loss = model(torch.ones(4, 32)).mean()
    loss.backward()
    if is_late and step < 14:
        time.sleep(0.100)
    optimizer.step()
    dist.all_reduce(torch.ones(1000))
    gathered = [torch.empty(10), torch.empty(10)]
    work = dist.all_gather(gathered, torch.full((10,), 2.0), async_op=True)
    sent, received = torch.full((5,), float(step)), torch.empty(5)
    both = [dist.P2POp(dist.isend, sent, other), dist.P2POp(dist.irecv, received, other)]
    for message in dist.batch_isend_irecv(both):
        message.wait()
    work.wait()
    assert torch.equal(sent, received) and gathered[other].sum() == 20
dist.destroy_process_group()
"""
COMMAND = (
    *("run", "--quiet", "--name", "job"),
    *("--profile", "none", "--profile", "operators:start_step=3,num_steps=2"),
    *("--profile", "distributed:start_step=7,num_steps=6"),
    *("--profile", "distributed:start_step=16,num_steps=6"),
    *("--", *TWO_RANKS),
)


@pytest.fixture(scope="module")
def job(scripts: Scripts, torch_python: tuple[str, ...]) -> Job:
    """Record the job once, even if several processes run the tests."""
    sonde = Sonde(scripts.folder("late_worker"))
    sonde.folder.mkdir(parents=True, exist_ok=True)
    with (sonde.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (sonde.folder / "script.py").exists():
            (sonde.folder / "script.py").write_text(SCRIPT)
            done = sonde.run(*COMMAND, *torch_python, "script.py", timeout=170)
            assert done.returncode == 0, done.stderr.decode()
    return open_job(str(sonde.job_folder("job")))


def rows_of(collectives: Collectives, operation: str) -> list[dict[str, Any]]:
    rows = collectives.to_arrow().to_pylist()
    return [row for row in rows if row["operation"] == operation]


def waits(collectives: Collectives, column: str) -> list[float]:
    return [row[column] for row in rows_of(collectives, "all_reduce") if row["worker"] == 0]


def test_a_late_worker_is_named_with_the_time_that_the_other_waits(job: Job) -> None:
    collectives = job.collectives(start_step=8, end_step=13)
    rows = rows_of(collectives, "all_reduce")
    assert [row["step"] for row in rows] == [*range(8, 13)] * 2
    assert {(row["bytes"], row["asynchronous"]) for row in rows} == {(4000.0, False)}
    assert len({row["collective"] for row in rows}) == 5, "each call has its counterpart"
    # a busy machine can only make waits longer
    for column in ("waiting_seconds", "exposed_seconds"):
        assert DELAY - 0.008 < min(waits(collectives, column)) < 2 * DELAY
    assert collectives.slow_worker == 1
    assert "Worker 1 is slow" in repr(collectives)


def test_asynchronous_collectives_and_messages_are_recorded(job: Job) -> None:
    collectives = job.collectives(start_step=8, end_step=13)
    gathered = rows_of(collectives, "all_gather")
    assert {(row["bytes"], row["asynchronous"]) for row in gathered} == {(40.0, True)}
    assert all(row["exposed_seconds"] <= row["seconds"] for row in gathered)
    messages = rows_of(collectives, "batch_isend_irecv")
    assert len(messages) == 10
    assert {(row["bytes"], row["collective"]) for row in messages} == {(40.0, -1)}


def test_synchronized_workers_hardly_wait(job: Job) -> None:
    collectives = job.collectives(start_step=17)
    assert len(rows_of(collectives, "all_reduce")) == 10
    assert median(waits(collectives, "waiting_seconds")) < DELAY / 2


def test_collectives_started_by_ddp_are_in_the_trace(job: Job) -> None:
    collectives = job.collectives(start_step=3, end_step=5)
    rows = [row for row in collectives.to_arrow().to_pylist() if row["source"] == "gloo"]
    assert {row["worker"] for row in rows} == {0, 1}
    reduced = [row for row in rows if row["operation"] == "all_reduce"]
    waited = [row["waiting_seconds"] for row in reduced if row["worker"] == 0]
    assert min(waited) < 2 * DELAY
    assert max(waited) > DELAY - 0.008
    assert collectives.slow_worker == 1


def test_the_exported_timeline_is_valid_for_perfetto(job: Job, tmp_path: Path) -> None:
    target = job.timeline(start_step=3, end_step=9).save(tmp_path / "merged.json")
    document = json.loads(target.read_text())
    check_trace(document)
    events = document["traceEvents"]
    threads = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"steps", "phases", "profile windows", "collectives"} <= threads
    assert {"operator", "collective", "phase", "step"} <= {event.get("cat") for event in events}
    assert [event for event in events if event["ph"] == "C"]
