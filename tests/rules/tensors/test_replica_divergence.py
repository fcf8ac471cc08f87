"""ReplicaDivergence: planted faults and their healthy twins."""

from collections.abc import Callable, Sequence

from sonde.clock import NANOSECONDS
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob

CHECKS = range(0, 600, 100)

Sums = Callable[[int, int], str]  # rank and step to checksum


def check(job: FakeJob) -> Evaluation:
    return job.job().check("ReplicaDivergence")["ReplicaDivergence"]


def workers(
    sums: Sums,
    *,
    wrapped: bool = True,
    ranks: int = 4,
    late: int = -1,
    checks: Sequence[int] = CHECKS,
) -> FakeJob:
    """Check all weights every 100 steps; one worker may report 15 steps later."""
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
    """Record a fingerprint of two workers at every step and a checksum every 16 steps."""
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


def diverging(rank: int, step: int) -> int:
    return 1000 + step + 7 * rank * (step >= 303)


def diverging_checksum(rank: int, step: int) -> str:
    return f"{diverging(rank, step):08x}"


def equal(_rank: int, step: int) -> str:
    return f"{step:08x}"


def one_diverges(rank: int, step: int) -> str:
    return f"{step + (rank == 2 and step >= 300):08x}"


def all_diverge(rank: int, step: int) -> str:
    return f"{step + 7 * rank * (step > 0):08x}"


def test_diverging_worker_is_critical_and_named() -> None:
    [episode] = check(workers(one_diverges)).episodes
    finding = episode.finding
    assert (finding.severity, finding.worker) == (Severity.CRITICAL, 2)
    assert (episode.first_step, finding.evidence["last_equal_step"]) == (300, 200)
    assert "worker 2 differs from the rest" in finding.message


def test_unwrapped_models_that_were_equal_must_stay_equal() -> None:
    [episode] = check(workers(one_diverges, wrapped=False)).episodes
    assert episode.severity is Severity.CRITICAL


def test_unsynchronized_workers_are_reported_later() -> None:
    [episode] = check(workers(all_diverge, wrapped=False)).episodes
    assert episode.severity is Severity.WARNING
    assert episode.first_step == 100


def test_unsynchronized_workers_are_reported_at_the_end_of_a_short_job() -> None:
    def diverging_workers(since: int) -> FakeJob:
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

    [episode] = check(diverging_workers(since=1)).episodes
    assert (episode.severity, episode.first_step) == (Severity.WARNING, 1)
    assert check(diverging_workers(since=200)).episodes == ()


def test_wrapped_models_that_differ_from_the_start_are_a_warning() -> None:
    [episode] = check(workers(lambda rank, step: f"{step + rank:08x}")).episodes
    assert episode.severity is Severity.WARNING


def test_equal_workers_are_not_reported() -> None:
    result = check(workers(equal, late=1))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert result.datapoints == 24


def test_unwrapped_models_that_were_never_equal_are_not_reported() -> None:
    assert check(workers(lambda rank, step: f"{step + rank:08x}", wrapped=False)).episodes == ()


def test_occasionally_averaged_models_are_not_reported() -> None:
    def averaged(rank: int, step: int) -> str:
        return f"{step + rank * (step % 200 == 100):08x}"

    assert check(workers(averaged, wrapped=False, ranks=2)).episodes == ()


def test_frequently_averaged_models_are_not_reported() -> None:
    def averaged(rank: int, step: int) -> str:
        return f"{step + rank * (step % 50 != 0):08x}"

    often = workers(averaged, wrapped=False, ranks=2, checks=range(0, 600, 5))
    assert check(often).episodes == ()


def test_finding_is_resolved_when_workers_are_equal_again() -> None:
    def comes_back(rank: int, step: int) -> str:
        return f"{step + (rank == 2 and step == 300):08x}"

    [episode] = check(workers(comes_back)).episodes
    assert not episode.is_open


def test_fingerprints_report_divergence_at_the_exact_step() -> None:
    [episode] = check(at_every_step(diverging, diverging_checksum)).episodes
    assert episode.severity is Severity.CRITICAL
    assert episode.first_step == 303
    assert episode.finding.evidence["last_equal_step"] == 302
    assert episode.first_ns - FakeClock().now_ns() < 30.4 * NANOSECONDS


def test_unwrapped_models_equal_at_every_step_must_stay_equal() -> None:
    [episode] = check(at_every_step(diverging, diverging_checksum, wrapped=False)).episodes
    assert (episode.severity, episode.first_step) == (Severity.CRITICAL, 303)


def test_divergence_missed_by_fingerprints_is_reported_by_the_next_checksum() -> None:
    [episode] = check(at_every_step(lambda _rank, step: step, diverging_checksum)).episodes
    assert (episode.first_step, episode.is_open) == (304, True)


def test_late_checksum_does_not_resolve_a_fingerprint_finding() -> None:
    checks = range(0, 304, 16)
    [episode] = check(at_every_step(diverging, equal, checks=checks, late=20)).episodes
    assert (episode.first_step, episode.is_open) == (303, True)


def test_finding_is_resolved_when_fingerprints_are_equal_again() -> None:
    def comes_back(rank: int, step: int) -> int:
        return step + 1000 * rank * (303 <= step < 350)

    job = at_every_step(comes_back, lambda rank, step: f"{comes_back(rank, step):08x}")
    [episode] = check(job).episodes
    assert (episode.first_step, episode.is_open) == (303, False)


def test_models_averaged_every_tenth_step_are_not_reported() -> None:
    def averaged(rank: int, step: int) -> int:
        return step + 1000 * rank * (step % 10 != 0)

    def complete(rank: int, step: int) -> str:
        return f"{averaged(rank, step):08x}"

    for late in (0, 20):
        assert check(at_every_step(averaged, complete, wrapped=False, late=late)).episodes == ()


def test_fingerprints_of_other_bytes_are_not_compared() -> None:
    def read(rank: int, step: int) -> str:
        return "0 1 3 5" if step < 303 or rank else "0 2 4 6"

    assert check(at_every_step(diverging, equal, read=read)).episodes == ()


def test_rule_does_not_apply_to_one_worker() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert check(job.end()).status is RuleStatus.NOT_APPLICABLE
