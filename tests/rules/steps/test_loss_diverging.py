"""LossDiverging: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import noisy, with_evaluations, with_losses

SEEDS = range(3)


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("LossDiverging")["LossDiverging"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_that_explodes_is_found(seed: int) -> None:
    losses = noisy(lambda at: 2.3 * np.exp(np.minimum(at, 200) / 15), 300, 0.3, seed)
    [episode] = evaluate(with_losses(losses)).episodes
    assert "has exploded" in episode.finding.message
    assert episode.severity is Severity.CRITICAL
    assert episode.first_step is not None
    assert episode.first_step <= 150


@pytest.mark.parametrize("steps", [4, 300])
def test_a_loss_that_explodes_to_nan_is_found(steps: int) -> None:
    losses = np.append(noisy(lambda at: 2.3 * np.exp(-at / 40), steps, 0.1), [5e4, 7e11, np.inf])
    [episode] = evaluate(with_losses(np.append(losses, np.full(80, np.nan)))).episodes
    assert "has exploded and is no longer finite" in episode.finding.message
    assert "last finite 7e+11" in episode.finding.message


def test_a_sudden_nan_loss_is_not_a_divergence() -> None:
    losses = np.append(noisy(lambda at: 2.3 * np.exp(-at / 40), 300, 0.1), np.full(80, np.nan))
    assert evaluate(with_losses(losses)).episodes == ()


def test_a_few_nan_losses_are_not_a_divergence() -> None:
    losses = noisy(lambda at: 2.3 * np.exp(-at / 40), 300, 0.1)
    losses[100:112] = np.nan
    losses[99] = 1e6
    assert evaluate(with_losses(losses)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_that_rises_above_its_initial_value_after_learning_is_found(seed: int) -> None:
    losses = noisy(lambda at: np.where(at < 300, 0.5 + 1.8 * np.exp(-at / 40), 9.0), 600, 0.2, seed)
    [episode] = evaluate(with_losses(losses)).episodes
    assert "is worse than before training" in episode.finding.message
    assert (episode.severity, episode.is_open) == (Severity.WARNING, True)


@pytest.mark.parametrize("power", [1.5, 2, 3])
def test_a_loss_that_falls_without_bound_is_found(power: float) -> None:
    losses = noisy(lambda at: -2.3 - 2 * at**power, 1500, 0.05)
    [episode] = evaluate(with_losses(losses)).episodes
    assert "falls without bound" in episode.finding.message


def test_an_accelerating_fall_is_found_early() -> None:
    losses = noisy(lambda at: 2.3 - 0.0008 * at**2, 400, 0.05)
    [episode] = evaluate(with_losses(losses)).episodes
    assert "falls without bound" in episode.finding.message
    assert episode.severity is Severity.WARNING


def _density(at: FloatArray) -> FloatArray:
    return 1.4 - 12 * (1 - np.exp(-at / 200))


def test_a_loss_that_only_rises_is_found_early() -> None:
    losses = noisy(lambda at: 1.8 + 0.03 * at, 400, 0.1)
    [episode] = evaluate(with_losses(losses)).episodes
    assert "rises without bound" in episode.finding.message


HEALTHY = {
    "rises to another level": lambda at: 1.0 + 5 * (1 - np.exp(-at / 100)),
    "rises once it has learned": lambda at: 0.3 + 2 * np.exp(-at / 20) + at / 500,
    "falls": lambda at: 2.3 * np.exp(-at / 50) + 0.01,
    "a small rise from near zero": lambda at: np.where(at < 400, 2.3 * 0.9**at, 1e-3),
    "a spike of sixty steps": lambda at: np.where((at > 300) & (at < 360), 500.0, 0.5),
    "an explosion at the start that recovers": lambda at: 2.0 + 1e4 * np.exp(-at / 12),
    "a log-likelihood below zero": _density,
    "a log-likelihood far below zero": lambda at: 5.0 - 90 * (1 - np.exp(-at / 150)),
    "constant": lambda at: np.full_like(at, 2.3),
    "a slow rise after learning": lambda at: 0.5 + 1.8 * np.exp(-at / 60) + at / 800,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_losses_are_not_reported(name: str, seed: int) -> None:
    result = evaluate(with_losses(noisy(HEALTHY[name], 900, 0.2, seed)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_alternating_losses_are_not_applicable() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        worker.scalar("loss/0", step, 0.7 * 1.1**step).scalar("loss/1", step, 0.7)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert evaluate(job.end()).status is RuleStatus.NOT_APPLICABLE


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_losses([2.0] * 8))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA


@pytest.mark.parametrize("level", [4.6, 60.0])
def test_the_loss_of_a_new_task_is_compared_with_its_own_initial_value(level: float) -> None:
    """It applies only if the jump coincides with the new optimizer or loss function."""
    first = noisy(lambda at: 0.1 + 0.9 * np.exp(-at / 40), 240, 0.05)
    second = noisy(lambda at: level * (0.7 + 0.3 * np.exp(-at / 40)), 300, 0.05)
    losses = np.append(first, second)
    assert evaluate(with_losses(losses, optimizers={0: "0", 240: "1"})).episodes == ()
    assert evaluate(with_losses(losses, kinds={0: "Mse", 240: "Nll"})).episodes == ()
    assert evaluate(with_losses(losses, optimizers={0: "0", 100: "1"})).episodes
    assert evaluate(with_losses(losses)).episodes


def test_new_optimizers_do_not_hide_an_exploding_loss() -> None:
    losses = noisy(lambda at: 2.3 * np.exp(np.minimum(at, 200) / 15), 300, 0.3)
    optimizers = {step: str(step // 20) for step in range(0, 300, 20)}
    assert evaluate(with_losses(losses, optimizers=optimizers)).episodes


def with_growing_loss(sign: float, rate: float) -> FakeJob:
    """A training loss with this sign, and evaluations every 30 steps whose loss grows."""
    return with_evaluations(
        lambda step: sign * (1.0 + rate * step),
        lambda step: 1.0 + 1.1 * rate * step,
        evaluations=10,
        every=30,
    )


def test_a_loss_with_the_wrong_sign_is_found_by_its_evaluations() -> None:
    [episode] = evaluate(with_growing_loss(-1.0, 0.01)).episodes
    assert "falls below zero while the evaluation loss grows" in episode.finding.message
    assert episode.first_step is not None
    assert episode.first_step <= 200


def test_a_negative_loss_with_falling_evaluation_losses_is_not_reported() -> None:
    healthy = with_evaluations(
        lambda step: -0.01 * step, lambda step: 0.2 - 0.008 * step, evaluations=10, every=30
    )
    assert evaluate(healthy).episodes == ()


def test_overfitting_is_not_reported_as_divergence() -> None:
    overfit = with_evaluations(
        lambda step: 2.0 / (1 + 0.1 * step),
        lambda step: 2.0 + 0.03 * step,
        evaluations=10,
        every=30,
    )
    assert evaluate(overfit).episodes == ()
