"""CollectiveHang: jobs with the fault and similar healthy jobs."""

from collections.abc import Mapping

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from sonde.records.job import ExitReason
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

WAITING = ("collective", "train (train.py:40)")
LOADING = ("loading", "train (train.py:31)")
WORKING = ("", "shuffle (data.py:7)")
SAVING = ("checkpoint", "save (train.py:60)")


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("CollectiveHang")["CollectiveHang"]


def hanging(
    locations: Mapping[int, tuple[str, str] | None], seconds: int = 300, steps_after: int = 0
) -> FakeJob:
    """A job whose workers are stuck at these locations after 20 steps; None: has stopped."""
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=len(locations)) for rank in locations}
    for step in range(20):
        _record_step(job, workers, step)
    for second in range(10, seconds + 10, 10):
        job.record({"cpu.utilization_percent": [5.0]}, 10.0)
        for rank, location in locations.items():
            if location is not None:
                _record_standstill(workers[rank], location, second)
    for worker in workers.values() if steps_after else ():
        worker.observation("standing-still", "", 20)
    for step in range(20, 20 + steps_after):
        _record_step(job, workers, step)
    return job.end()


def _record_standstill(worker: FakeWorker, location: tuple[str, str], second: int) -> None:
    if second in (30, 60, 120, 240, 480, 960):
        section, line = location
        facts = {"in": section, "stack": []}
        worker.observation("standing-still", line, 20, detail=facts, value=float(second))
    worker.beat().flush()


def _record_step(job: FakeJob, workers: Mapping[int, FakeWorker], step: int) -> None:
    now_ns = job.clock.now_ns()
    for worker in workers.values():
        job.clock._now_ns = now_ns
        worker.step(step, {"forward": 1.0}).beat().flush()
    job.record({"cpu.utilization_percent": [50.0]}, 0.0)


@pytest.mark.parametrize("location", [LOADING, WORKING])
def test_the_missing_worker_is_named_with_its_line(location: tuple[str, str]) -> None:
    [episode] = evaluate(hanging({0: WAITING, 1: WAITING, 2: location})).episodes
    assert (episode.finding.worker, episode.severity) == (2, Severity.WARNING)
    assert f"worker 2 is stuck in {location[1]}" in episode.finding.message
    assert "2 of 3 workers have been waiting" in episode.finding.message


def test_a_hang_of_ten_minutes_is_critical() -> None:
    [episode] = evaluate(hanging({0: WAITING, 1: WORKING}, seconds=700)).episodes
    assert episode.severity is Severity.CRITICAL


def test_a_worker_without_heartbeat_is_named() -> None:
    [episode] = evaluate(hanging({0: WAITING, 1: None})).episodes
    assert (episode.finding.worker, episode.severity) == (1, Severity.CRITICAL)
    assert "worker 1 sends no heartbeat" in episode.finding.message


def test_waiting_of_all_workers_is_reported_as_different_collectives() -> None:
    [episode] = evaluate(hanging({0: WAITING, 1: WAITING})).episodes
    assert episode.finding.worker is None
    assert "in different collectives" in episode.finding.message


def test_a_hang_that_ends_is_resolved() -> None:
    [episode] = evaluate(hanging({0: WAITING, 1: WORKING}, steps_after=15)).episodes
    assert not episode.is_open


def failed(collective: str, second: str = "", reason: ExitReason = ExitReason.EXCEPTION) -> FakeJob:
    """A job with two workers: the first fails, and the second, too, if it has a message."""
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=2) for rank in (0, 1)}
    for step in range(20):
        _record_step(job, workers, step)
    workers[0].fail("RuntimeError: closed by peer", collective=collective)
    if second:
        workers[1].fail(second, reason)
    return job.fail()


def test_the_worker_missing_from_a_failed_collective_is_named() -> None:
    for job in (
        failed("all_reduce"),
        failed("all_reduce", "SIGTERM", ExitReason.SIGNAL),
    ):
        [episode] = evaluate(job).episodes
        assert (episode.finding.worker, episode.severity) == (1, Severity.CRITICAL)
        assert "worker 0 failed in a collective: all_reduce" in episode.finding.message
        assert "worker 1 was not in it" in episode.finding.message


def test_a_worker_with_its_own_exception_is_not_a_hang() -> None:
    assert evaluate(failed("all_reduce", "ValueError: 3")).episodes == ()
    assert evaluate(failed("")).episodes == ()


HEALTHY: dict[str, dict[int, tuple[str, str] | None]] = {
    "one saves a checkpoint": {0: SAVING, 1: WAITING},
    "all work": {0: WORKING, 1: WORKING},
    "one compiles": {0: ("compiling", "train (train.py:3)"), 1: WAITING},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_long_work_of_one_worker_is_not_a_hang(name: str) -> None:
    assert evaluate(hanging(HEALTHY[name])).episodes == ()


def test_a_short_wait_is_healthy() -> None:
    assert evaluate(hanging({0: WAITING, 1: WORKING}, seconds=100, steps_after=15)).episodes == ()


def test_evaluation_by_one_worker_is_not_a_hang() -> None:
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=2) for rank in (0, 1)}
    for step in range(20):
        _record_step(job, workers, step)
    for second in range(30, 330, 10):
        _record_standstill(workers[1], WAITING, second)
        workers[0].step(second, {"forward": 10.0}, mode="eval").beat().flush()
        job.record({"cpu.utilization_percent": [50.0]}, 0.0)
    assert evaluate(job.end()).episodes == ()


def test_a_job_with_one_worker_is_not_applicable() -> None:
    result = evaluate(hanging({0: WAITING}))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "the job has only one worker",
    )
