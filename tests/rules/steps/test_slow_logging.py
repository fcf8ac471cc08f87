"""SlowLogging: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("SlowLogging", **parameters)["SlowLogging"]


def printed(each: float, step_seconds: float = 0.01, steps: int = 1500) -> FakeJob:
    """A job whose steps each spend `each` seconds on output."""
    job = FakeJob()
    worker = job.worker()
    reported = 0.0
    for step in range(steps):
        worker.step(step, {"forward": step_seconds})
        reported += each
        if step % 100 == 99:
            half = reported / 2
            for line, by in (("train (train.py:20)", "print"), ("log (train.py:8)", "logging")):
                spent = 1.2 * half if by == "print" else 0.8 * half
                worker.observation("output-time", line, step, {"by": by}, value=spent)
            reported = 0.0
    worker.flush()
    return job.end()


def test_slow_output_is_found_with_the_slowest_line() -> None:
    [episode] = evaluate(printed(0.006)).episodes
    assert "Output takes 60% of the training time of worker 0, 6 ms per step" in (
        episode.finding.message
    )
    assert "most of it: print in train (train.py:20)" in episode.finding.message
    assert episode.is_open


def test_a_short_job_is_checked_at_its_end() -> None:
    assert evaluate(printed(0.006, steps=200)).episodes


@pytest.mark.parametrize(
    ("each", "step_seconds"), [(0.002, 0.01), (0.0, 0.01), (0.0005, 0.001)], ids=str
)
def test_healthy_output_is_not_reported(each: float, step_seconds: float) -> None:
    result = evaluate(printed(each, step_seconds))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_explicit_threshold_applies() -> None:
    assert evaluate(printed(0.002), threshold=10).triggered
    assert not evaluate(printed(0.006), threshold=70).triggered
