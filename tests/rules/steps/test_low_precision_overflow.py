"""LowPrecisionOverflow: jobs with the fault and similar healthy jobs."""

from collections.abc import Container

from sonde.records.finding import Evaluation, RuleStatus, Severity
from sonde.records.worker import TensorIndex, TensorInfo
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("LowPrecisionOverflow")["LowPrecisionOverflow"]


def scaled(skipped: Container[int], steps: int = 500, scale: float = 65536.0) -> FakeJob:
    """A job with a gradient scaler that skips some steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.scalar("loss_scale", step, scale)
        if step in skipped:
            worker.step(step, {"forward": 0.1}, skipped=True)
        else:
            worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_steps_that_are_skipped_too_often_are_found() -> None:
    [episode] = evaluate(scaled(range(0, 500, 5))).episodes
    assert episode.severity is Severity.WARNING
    assert "skipped 40 of the last 200 steps" in episode.finding.message
    assert "The loss scale is 6.55e+04." in episode.finding.message


def test_a_scaler_that_skips_every_step_is_critical() -> None:
    [episode] = evaluate(scaled(range(300, 500))).episodes
    assert (episode.severity, episode.is_open) == (Severity.CRITICAL, True)
    assert episode.finding.worker == 0


def test_a_scaler_that_finds_its_scale_is_healthy() -> None:
    for skipped in (range(12), range(100, 500, 200), ()):
        result = evaluate(scaled(skipped))
        assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_full_precision_is_not_applicable() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = evaluate(job.end())
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no gradient scaler and no float16 tensor"


def half(largest: float, dtype: str = "float16") -> FakeJob:
    """A job with weights of this type and maximum."""
    job = FakeJob()
    worker = job.worker()
    info = TensorInfo("weight/head", ("weights",), dtype, (2, 3))
    for step in range(60):
        worker.statistics("weight/head", step, [0.1, -largest, 0.3])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    worker.document("tensors", TensorIndex((info,)))
    return job.end()


def test_values_near_the_limit_of_their_type_are_found() -> None:
    [episode] = evaluate(half(60_000.0)).episodes
    assert episode.finding.tensor == "weight/head"
    assert "92% of the float16 range" in episode.finding.message


def test_values_far_below_the_limit_are_healthy() -> None:
    assert evaluate(half(1000.0)).status is RuleStatus.NO_ISSUES_FOUND
    assert evaluate(half(60_000.0, "float32")).episodes == ()
