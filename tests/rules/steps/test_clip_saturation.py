"""ClipSaturation: jobs with the fault and similar healthy jobs."""

import numpy as np

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses


def evaluate(factors: FloatArray) -> Evaluation:
    job = with_losses(np.ones(len(factors)), scalars={"clip_factor": factors.tolist()})
    return job.job().check("ClipSaturation")["ClipSaturation"]


def factors(norm: float, value: float = 1.0, steps: int = 500, seed: int = 0) -> FloatArray:
    """Clip factors of gradients with about this norm."""
    norms = norm * np.exp(0.3 * np.random.default_rng(seed).standard_normal(steps))
    return np.asarray(np.minimum(1.0, value / norms))


def test_clipping_to_a_small_fraction_is_found() -> None:
    [episode] = evaluate(factors(norm=100.0)).episodes
    assert float(str(episode.finding.evidence["times_too_small"])) > 50
    assert episode.finding.message.startswith("Clipping keeps 1")


def test_a_tiny_fraction_is_written_without_scientific_notation() -> None:
    [episode] = evaluate(factors(norm=1e7)).episodes
    assert episode.finding.message.startswith("Clipping keeps < 0.01% of the gradient (median): ")


def with_rollouts(every: int, acts: int) -> FakeJob:
    """A job with clipped steps and a rollout of `acts` passes every `every` steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(400):
        for index in range(acts if step % every == 0 else 0):
            worker.span("forward", 0.001 * index, 0.001, step)
        worker.scalar("clip_factor", step, 0.01).scalar("loss", step, 20.0)
        worker.step(step, {"between": 0.1, "forward": 0.1})
    worker.flush()
    return job.end()


def test_clipping_is_info_in_reinforcement_learning() -> None:
    for every, acts, severity in (
        (16, 64, Severity.INFO),
        (200, 1000, Severity.INFO),  # most windows have no rollout
        (1, 1, Severity.WARNING),  # a teacher
        (100, 10, Severity.WARNING),  # an evaluation
    ):
        evaluations = with_rollouts(every, acts).job().check("ClipSaturation")
        [episode] = evaluations["ClipSaturation"].episodes
        assert episode.severity is severity


def test_the_loss_need_not_fall_in_reinforcement_learning() -> None:
    result = with_rollouts(200, 1000).job().check("LossNotDecreasing")["LossNotDecreasing"]
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())
    assert with_rollouts(100, 10).job().check("LossNotDecreasing")["LossNotDecreasing"].episodes


def test_a_finished_job_needs_fewer_steps() -> None:
    assert evaluate(factors(100.0, steps=170)).episodes


def test_occasional_and_slight_clipping_is_healthy() -> None:
    for norm in (0.5, 1.5, 6.0):
        result = evaluate(factors(norm))
        assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_clipping_at_the_start_is_healthy() -> None:
    assert evaluate(np.append(factors(100.0, steps=150), factors(1.0, steps=400))).episodes == ()


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(factors(100.0, steps=120))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 70 of 100 steps with clipped gradients"
