"""ReplicaDivergence: planted faults and their healthy twins."""

from collections.abc import Callable, Sequence

from sonde.clock import NANOSECONDS
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob

CHECKS = range(0, 600, 100)

Sums = Callable[[int, int], str]  # of a rank at a step


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("ReplicaDivergence")["ReplicaDivergence"]


def workers(
    sums: Sums,
    *,
    wrapped: bool = True,
    ranks: int = 4,
    late: int = -1,
    checks: Sequence[int] = CHECKS,
) -> FakeJob:
    """Checks of all weights, every hundred steps; one worker tells it some steps later."""
    job = FakeJob()
    start_ns = job.clock.now_ns()
    for rank in range(ranks):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=ranks)
        for step in range(600):
            worker.step(step, {"forward": 0.1})
            reported = step - (15 if rank == late else 0)
            if reported in checks:
                detail = sums(rank, reported)
                worker.observation(
                    "replica-checksum", "Net", reported, detail, value=float(wrapped)
                )
        worker.flush()
    return job.end()


def at_every_step(
    fingerprints: Callable[[int, int], int],
    sums: Sums,
    *,
    wrapped: bool = True,
    checks: Sequence[int] = range(0, 600, 16),
    late: int = 0,
    read: Callable[[int, int], str] = lambda _rank, _step: "0 1 3 5",
) -> FakeJob:
    """Two workers that tell of a few bytes at every step, and now and then of all weights."""
    job = FakeJob()
    start_ns = job.clock.now_ns()
    for rank in range(2):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=2)
        for step in range(600):
            detail = f"wrapped {read(rank, step)}" if wrapped else read(rank, step)
            value = fingerprints(rank, step)
            worker.observation("replica-fingerprint", "Net", step, detail, value=value)
            if step - late in checks:
                reported, total = step - late, sums(rank, step - late)
                worker.observation("replica-checksum", "Net", reported, total, value=float(wrapped))
            worker.step(step, {"forward": 0.1})
        worker.flush()
    return job.end()


def few_steps_job(rank: int, step: int) -> int:
    return 1000 + step + 7 * rank * (step >= 303)


def all_of(rank: int, step: int) -> str:
    return f"{few_steps_job(rank, step):08x}"


def equal(_rank: int, step: int) -> str:
    return f"{step:08x}"


def one_leaves(rank: int, step: int) -> str:
    return f"{step + (rank == 2 and step >= 300):08x}"


def own_ways(rank: int, step: int) -> str:
    return f"{step + 7 * rank * (step > 0):08x}"


def test_a_worker_that_leaves_the_others_is_critical_and_named() -> None:
    [episode] = judged(workers(one_leaves)).episodes
    finding = episode.finding
    assert (finding.severity, finding.worker) == (Severity.CRITICAL, 2)
    assert (episode.first_step, finding.evidence["last_equal_step"]) == (300, 200)
    assert "worker 2 differs from the rest" in finding.message


def test_what_a_training_has_kept_equal_by_itself_must_stay_so() -> None:
    [episode] = judged(workers(one_leaves, wrapped=False)).episodes
    assert episode.severity is Severity.CRITICAL


def test_workers_that_nobody_keeps_together_are_found_later() -> None:
    [episode] = judged(workers(own_ways, wrapped=False)).episodes
    assert episode.severity is Severity.WARNING
    assert episode.first_step == 100


def test_workers_that_nobody_keeps_together_are_found_at_the_end_of_a_short_job() -> None:
    def apart(since: int) -> FakeJob:
        job = FakeJob()
        start_ns = job.clock.now_ns()
        for rank in range(2):
            job.clock._now_ns = start_ns
            worker = job.worker(rank, world_size=2)
            for step in range(100):
                value = step + 1000 * rank * (step >= since)
                worker.observation("replica-fingerprint", "Net", step, "0 1", value=value)
                worker.step(step, {"forward": 0.1})
            worker.flush()
        return job.end()

    [episode] = judged(apart(since=1)).episodes
    assert (episode.severity, episode.first_step) == (Severity.WARNING, 1)
    assert judged(apart(since=200)).episodes == ()


def test_parts_that_differ_from_the_first_may_be_meant_so() -> None:
    [episode] = judged(workers(lambda rank, step: f"{step + rank:08x}")).episodes
    assert episode.severity is Severity.WARNING


def test_equal_workers_are_left_alone() -> None:
    result = judged(workers(equal, late=1))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert result.datapoints == 24


def test_models_that_never_were_the_same_are_left_alone() -> None:
    assert judged(workers(lambda rank, step: f"{step + rank:08x}", wrapped=False)).episodes == ()


def test_models_that_are_averaged_now_and_then_are_left_alone() -> None:
    def averaged(rank: int, step: int) -> str:
        return f"{step + rank * (step % 200 == 100):08x}"

    assert judged(workers(averaged, wrapped=False, ranks=2)).episodes == ()


def test_models_that_are_averaged_often_may_part_between() -> None:
    def averaged(rank: int, step: int) -> str:
        return f"{step + rank * (step % 50 != 0):08x}"

    often = workers(averaged, wrapped=False, ranks=2, checks=range(0, 600, 5))
    assert judged(often).episodes == ()


def test_workers_that_come_together_again_recover() -> None:
    def comes_back(rank: int, step: int) -> str:
        return f"{step + (rank == 2 and step == 300):08x}"

    [episode] = judged(workers(comes_back)).episodes
    assert not episode.is_open


def test_fingerprints_tell_workers_that_part_at_that_very_step() -> None:
    [episode] = judged(at_every_step(few_steps_job, all_of)).episodes
    assert episode.severity is Severity.CRITICAL
    assert episode.first_step == 303
    assert episode.finding.evidence["last_equal_step"] == 302
    assert episode.first_ns - FakeClock().now_ns() < 30.4 * NANOSECONDS


def test_what_a_training_has_kept_equal_at_every_step_must_stay_so() -> None:
    [episode] = judged(at_every_step(few_steps_job, all_of, wrapped=False)).episodes
    assert (episode.severity, episode.first_step) == (Severity.CRITICAL, 303)


def test_what_fingerprints_do_not_see_is_told_by_the_next_checksum_and_stays() -> None:
    [episode] = judged(at_every_step(lambda _rank, step: step, all_of)).episodes
    assert (episode.first_step, episode.is_open) == (304, True)


def test_a_checksum_from_before_does_not_end_what_fingerprints_tell() -> None:
    checks = range(0, 304, 16)
    [episode] = judged(at_every_step(few_steps_job, equal, checks=checks, late=20)).episodes
    assert (episode.first_step, episode.is_open) == (303, True)


def test_workers_whose_fingerprints_are_equal_again_recover() -> None:
    def comes_back(rank: int, step: int) -> int:
        return step + 1000 * rank * (303 <= step < 350)

    back = at_every_step(comes_back, lambda rank, step: f"{comes_back(rank, step):08x}")
    [episode] = judged(back).episodes
    assert (episode.first_step, episode.is_open) == (303, False)


def test_models_that_are_averaged_every_tenth_step_are_left_alone() -> None:
    def averaged(rank: int, step: int) -> int:
        return step + 1000 * rank * (step % 10 != 0)

    def complete(rank: int, step: int) -> str:
        return f"{averaged(rank, step):08x}"

    for late in (0, 20):
        assert judged(at_every_step(averaged, complete, wrapped=False, late=late)).episodes == ()


def test_fingerprints_of_other_bytes_are_not_compared() -> None:
    def read(rank: int, step: int) -> str:
        return "0 1 3 5" if step < 303 or rank else "0 2 4 6"

    assert judged(at_every_step(few_steps_job, equal, read=read)).episodes == ()


def test_one_worker_has_nobody_to_differ_from() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert judged(job.end()).status is RuleStatus.NOT_APPLICABLE
