"""Recompilation: storms of recompilations, and jobs that compile a few times."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

GUARD = {"line": "train.py:8", "reason": "tensor 'x' size mismatch at index 1"}


def evaluate(steps: int, compiled: dict[int, float]) -> Evaluation:
    """Train with steps of 0.1 s; some also compile for some seconds."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        seconds = compiled.get(step, 0.0)
        if seconds:
            worker.observation("recompilation", "forward", step, GUARD, value=seconds)
        worker.step(step, {"forward": 0.1 + seconds})
    worker.flush()
    return job.end().job().check("Recompilation")["Recompilation"]


def test_recompilations_are_reported_with_their_guard_and_the_time_they_took() -> None:
    # from step 10 on: 90 steps of 0.1 s and 4 compilations of 2.25 s
    [episode] = evaluate(100, {1: 20.0, 20: 2.25, 40: 2.25, 60: 2.25, 80: 2.25}).episodes
    message = "4 recompilations of worker 0 took 9 s, 50% of the training time since step 10."
    assert episode.finding.message == message
    improvement = episode.finding.improvement
    assert improvement is not None
    assert improvement.speedup == pytest.approx(2.0)
    assert improvement.places == ("forward (train.py:8): tensor 'x' size mismatch at index 1",)


@pytest.mark.parametrize("compiled", [{}, {1: 20.0, 2: 20.0, 3: 20.0}, {20: 2.0, 40: 2.0}])
def test_the_first_compilations_and_a_few_later_ones_are_healthy(
    compiled: dict[int, float],
) -> None:
    result = evaluate(100, compiled)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_few_steps_are_not_enough() -> None:
    assert evaluate(15, {}).status is RuleStatus.NOT_ENOUGH_DATA
