"""DoublePrecision: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("DoublePrecision")["DoublePrecision"]


def trained(dtype: str, shape: tuple[int, ...] = (256, 256), steps: int = 60) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    worker.add_tensor("weight/0", "weights", dtype=dtype, shape=shape)
    worker.add_tensor("weight/1", "weights", shape=(64, 64))
    for step in range(steps):
        worker.step(step, {"data_wait": 0.02, "forward": 0.03, "backward": 0.05})
    worker.flush()
    return job.end()


def test_a_model_in_float64_is_found_with_a_typical_gain() -> None:
    [episode] = evaluate(trained("float64")).episodes
    assert episode.severity is Severity.INFO
    assert episode.finding.message == "94% of the weights of worker 0 are float64."
    assert episode.finding.improvement is not None
    [remedy] = episode.finding.improvement.remedies
    assert remedy.gain is not None
    # computing takes 80% of a step
    assert remedy.gain.high == pytest.approx(1 / (1 - 0.6 * 0.8))


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (256, 256)), ("bfloat16", (256, 256)), ("float64", (50, 50))],
)
def test_other_types_and_small_double_weights_are_healthy(
    dtype: str, shape: tuple[int, ...]
) -> None:
    result = evaluate(trained(dtype, shape))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_few_steps_are_not_enough() -> None:
    result = evaluate(trained("float64", steps=15))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 5 of 20 steps after the first 10"
