"""CollectiveHang: planted faults and their healthy twins."""

from collections.abc import Mapping

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from sonde.records.job import ExitReason
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

WAITS = ("collective", "train (train.py:40)")
LOADS = ("loading", "train (train.py:31)")
WORKS = ("", "shuffle (data.py:7)")
SAVES = ("checkpoint", "save (train.py:60)")


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("CollectiveHang")["CollectiveHang"]


def hanging(
    locations: Mapping[int, tuple[str, str] | None], seconds: int = 300, goes_on_after: int = 0
) -> FakeJob:
    """Workers that do twenty steps; then each stands somewhere, or is gone where that is None."""
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=len(locations)) for rank in locations}
    for step in range(20):
        _one_step(job, workers, step)
    for second in range(10, seconds + 10, 10):
        job.record({"cpu.utilization_percent": [5.0]}, 10.0)
        for rank, location in locations.items():
            if location is not None:
                _stand(workers[rank], location, second)
    for worker in workers.values() if goes_on_after else ():
        worker.observation("standing-still", "", 20)
    for step in range(20, 20 + goes_on_after):
        _one_step(job, workers, step)
    return job.end()


def _stand(worker: FakeWorker, location: tuple[str, str], second: int) -> None:
    if second in (30, 60, 120, 240, 480, 960):
        section, line = location
        facts = {"in": section, "stack": []}
        worker.observation("standing-still", line, 20, detail=facts, value=float(second))
    worker.beat().flush()


def _one_step(job: FakeJob, workers: Mapping[int, FakeWorker], step: int) -> None:
    now_ns = job.clock.now_ns()
    for worker in workers.values():
        job.clock._now_ns = now_ns
        worker.step(step, {"forward": 1.0}).beat().flush()
    job.record({"cpu.utilization_percent": [50.0]}, 0.0)


@pytest.mark.parametrize("location", [LOADS, WORKS])
def test_the_worker_that_does_not_come_is_named_with_its_line(location: tuple[str, str]) -> None:
    [episode] = judged(hanging({0: WAITS, 1: WAITS, 2: location})).episodes
    assert (episode.finding.worker, episode.severity) == (2, Severity.WARNING)
    assert f"worker 2 is stuck in {location[1]}" in episode.finding.message
    assert "2 of 3 workers have been waiting" in episode.finding.message


def test_after_ten_minutes_it_is_critical() -> None:
    [episode] = judged(hanging({0: WAITS, 1: WORKS}, seconds=700)).episodes
    assert episode.severity is Severity.CRITICAL


def test_a_worker_without_a_sign_of_life_is_named_at_once() -> None:
    [episode] = judged(hanging({0: WAITS, 1: None})).episodes
    assert (episode.finding.worker, episode.severity) == (1, Severity.CRITICAL)
    assert "worker 1 sends no heartbeat" in episode.finding.message


def test_workers_that_all_wait_do_not_wait_for_the_same() -> None:
    [episode] = judged(hanging({0: WAITS, 1: WAITS})).episodes
    assert episode.finding.worker is None
    assert "in different collectives" in episode.finding.message


def test_a_hang_that_ends_is_over() -> None:
    [episode] = judged(hanging({0: WAITS, 1: WORKS}, goes_on_after=15)).episodes
    assert not episode.is_open


def failed(detail: str, second: str = "", reason: ExitReason = ExitReason.EXCEPTION) -> FakeJob:
    """Two workers of which the first fails; the other one, too, where a message is given."""
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=2) for rank in (0, 1)}
    for step in range(20):
        _one_step(job, workers, step)
    workers[0].fail("RuntimeError: closed by peer", detail=detail)
    if second:
        workers[1].fail(second, reason)
    return job.fail()


def test_who_was_not_there_when_a_collective_failed_is_named() -> None:
    for job in (
        failed("in a collective: all_reduce"),
        failed("in a collective: all_reduce", "SIGTERM", ExitReason.SIGNAL),
    ):
        [episode] = judged(job).episodes
        assert (episode.finding.worker, episode.severity) == (1, Severity.CRITICAL)
        assert "worker 0 failed in a collective: all_reduce" in episode.finding.message
        assert "worker 1 was not in it" in episode.finding.message


def test_a_failure_of_its_own_is_no_hang() -> None:
    assert judged(failed("in a collective: all_reduce", "ValueError: 3")).episodes == ()
    assert judged(failed("")).episodes == ()


HEALTHY: dict[str, dict[int, tuple[str, str] | None]] = {
    "one saves a checkpoint": {0: SAVES, 1: WAITS},
    "all work": {0: WORKS, 1: WORKS},
    "one compiles": {0: ("compiling", "train (train.py:3)"), 1: WAITS},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_who_works_is_waited_for(name: str) -> None:
    assert judged(hanging(HEALTHY[name])).episodes == ()


def test_a_short_wait_is_healthy() -> None:
    assert judged(hanging({0: WAITS, 1: WORKS}, seconds=100, goes_on_after=15)).episodes == ()


def test_who_evaluates_is_waited_for() -> None:
    job = FakeJob()
    workers = {rank: job.worker(rank, world_size=2) for rank in (0, 1)}
    for step in range(20):
        _one_step(job, workers, step)
    for second in range(30, 330, 10):
        _stand(workers[1], WAITS, second)
        workers[0].step(second, {"forward": 10.0}, mode="eval").beat().flush()
        job.record({"cpu.utilization_percent": [50.0]}, 0.0)
    assert judged(job.end()).episodes == ()


def test_one_worker_hangs_alone() -> None:
    result = judged(hanging({0: WAITS}))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "the job has only one worker",
    )
