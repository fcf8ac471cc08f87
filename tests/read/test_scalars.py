"""Scalars of several workers and lives, and their reduction."""

from typing import Any

import pytest

from sonde.read.jobs import read_job
from sonde.read.scalars import Losses, Matching, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.workers import WorkerReader
from sonde.records.ranges import StepRange
from tests.fakes.job import FakeJob

EVERYTHING = ScalarQuestion(Matching("*"))


def readers(job: FakeJob) -> list[WorkerReader]:
    facts = read_job(job.backend, job.clock.now_ns())
    return [WorkerReader(job.backend, int(rank), facts.lives) for rank in facts.workers]


def rows(job: FakeJob, question: ScalarQuestion = EVERYTHING) -> list[dict[str, Any]]:
    return list(read_scalars(readers(job), question).to_pylist())


def reduced(job: FakeJob, question: ScalarQuestion = EVERYTHING) -> list[dict[str, Any]]:
    return list(reduce_scalars(read_scalars(readers(job), question)).to_pylist())


@pytest.mark.parametrize("is_sealed", [False, True])
def test_scalars_are_selected_by_name_mode_source_and_step(is_sealed: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3):
        worker.scalar("loss", step, float(step)).scalar("learning_rate/0", step, 0.1)
        worker.scalar("loss", step, 10.0 + step, "eval").scalar("loss", step, 9.0, source="log")
    worker.seal() if is_sealed else worker.flush()
    question = ScalarQuestion(Matching("l?ss"), "train", "hook", StepRange(1))
    assert [row["value"] for row in rows(job, question)] == [1.0, 2.0]
    assert {row["name"] for row in rows(job)} == {"loss", "learning_rate/0"}


def test_intermediate_values_of_a_loss_are_not_losses() -> None:
    names = Losses()
    assert all(name in names for name in ("loss", "loss/0", "loss/critic"))
    assert not any(name in names for name in ("loss/root", "loss/factor", "lossy", "my_loss"))


def test_repeated_steps_use_the_last_life_of_a_worker() -> None:
    job = FakeJob()
    first = job.worker().scalar("loss", 0, 4.0).scalar("loss", 1, 3.0)
    first.scalar("only_once", 1, 7.0).scalar("note", -1, 1.0).flush()
    job.clock.advance(5)
    job.worker(attempt=2).scalar("loss", 1, 2.0).scalar("loss", 2, 1.0).scalar(
        "note", -1, 2.0
    ).flush()
    values = [(row["name"], row["step"], row["value"]) for row in rows(job)]
    assert sorted(values) == [
        *(("loss", 0, 4.0), ("loss", 1, 2.0), ("loss", 2, 1.0)),
        *(("note", -1, 1.0), ("note", -1, 2.0), ("only_once", 1, 7.0)),
    ]


def test_a_scalar_is_averaged_over_workers_per_step() -> None:
    job = FakeJob()
    workers = [job.worker(rank, world_size=2) for rank in range(2)]
    for step in range(3):
        for rank, worker in enumerate(workers[: 2 if step < 2 else 1]):
            worker.scalar("loss", step, float(step + 4 * rank)).flush()
    assert [
        (row["step"], row["value"], row["minimum"], row["maximum"], row["workers"])
        for row in reduced(job)
    ] == [(0, 2.0, 0.0, 4.0, 2), (1, 3.0, 1.0, 5.0, 2), (2, 2.0, 2.0, 2.0, 1)]


def test_the_last_of_several_values_in_a_step_counts() -> None:
    job = FakeJob()
    worker = job.worker().scalar("loss", 0, 5.0)
    job.clock.advance(1)
    worker.scalar("loss", 0, 3.0).flush()
    assert [row["value"] for row in reduced(job)] == [3.0]


def test_workers_of_an_earlier_attempt_are_not_averaged_with_current_ones() -> None:
    job = FakeJob()
    workers = [job.worker(rank, world_size=3) for rank in range(3)]
    for worker in workers:
        worker.scalar("loss", 0, 3.0).scalar("loss", 1, 9.0).flush()
    job.clock.advance(1)
    restarted = [job.worker(rank, restart=1, world_size=2) for rank in range(2)]
    for worker in restarted:
        worker.scalar("loss", 1, 1.0).flush()
    result = [(row["step"], row["value"], row["workers"]) for row in reduced(job)]
    assert result == [(0, 3.0, 3), (1, 1.0, 2)]


def test_a_job_without_workers_has_no_scalars() -> None:
    job = FakeJob()
    assert rows(job) == []
    assert reduced(job) == []
