"""The disk budget of a running job."""

import numpy as np

from sonde.agent.disk_budget import DiskBudget
from tests.fakes.job import FakeJob


def total(job: FakeJob) -> int:
    return sum(entry.size for entry in job.backend.entries(""))


def test_oldest_values_are_removed_when_due() -> None:
    job = FakeJob()
    message: list[str] = []
    worker = job.worker()
    room = total(job) + 20_000
    budget = DiskBudget(job.backend, job.clock, room, lambda what, reason: message.append(what))
    for step in range(4):
        worker.values(step, {"w": np.full(1000, step, dtype=np.float64)})
    budget.check()
    assert job.job().tensor("w").steps() == [0, 1, 2, 3]
    job.clock.advance(61)
    budget.check()
    assert job.job().tensor("w").steps() == [2, 3]
    assert total(job) <= room
    assert message == ["raw data"]
    worker.values(4, {"w": np.zeros(1000)})
    assert budget.enforce().files == 1
    assert message == ["raw data"]
    assert job.job().tensor("w").steps() == [3, 4]


def test_a_small_job_loses_nothing() -> None:
    job = FakeJob()
    job.worker().values(0, {"w": np.zeros(10)})
    budget = DiskBudget(job.backend, job.clock, 10**9, lambda what, reason: None)
    assert budget.enforce().files == 0
