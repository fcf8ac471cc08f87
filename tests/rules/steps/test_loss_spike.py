"""LossSpike: jobs with the fault and similar healthy jobs."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import noisy, with_losses

SEEDS = range(3)


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("LossSpike")["LossSpike"]


def falling(steps: int = 600, noise: float = 0.05, seed: int = 0) -> FloatArray:
    return noisy(lambda at: 0.4 + 1.9 * np.exp(-at / 60), steps, noise, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_spike_that_recovers_is_found_and_resolved(seed: int) -> None:
    losses = falling(seed=seed)
    losses[300:320] += np.linspace(3.0, 1.5, 20)
    [episode] = evaluate(with_losses(losses)).episodes
    evidence = episode.finding.evidence
    assert (episode.is_open, evidence["has_recovered"]) == (False, True)
    assert (episode.first_step, evidence["peak_step"]) == (300, 300)
    assert 18 <= float(str(evidence["lasted_steps"])) <= 22
    assert "recovered after 20 steps" in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_a_spike_soon_after_the_loss_has_fallen_is_found(seed: int) -> None:
    losses = noisy(lambda at: 0.12 + 2.5 * np.exp(-at / 30), 450, 0.3, seed)
    losses[240:256] = np.linspace(6.3, 2.8, 16)
    [episode] = evaluate(with_losses(losses)).episodes
    assert (episode.first_step, episode.is_open) == (240, False)


@pytest.mark.parametrize("first", range(344, 352))
def test_a_jump_of_a_few_steps_with_a_normal_one_in_between_is_found(first: int) -> None:
    losses = falling()
    losses[[first, first + 1, first + 3, first + 4]] += 3.0
    [episode] = evaluate(with_losses(losses)).episodes
    assert (episode.first_step, episode.is_open) == (first, False)


def test_scattered_hard_batches_are_not_a_spike() -> None:
    losses = falling()
    losses[[340, 352, 364, 376]] += 3.0
    assert evaluate(with_losses(losses)).episodes == ()


def test_a_spike_across_two_windows_is_one_episode() -> None:
    losses = falling()
    losses[340:420] += 3.0
    [episode] = evaluate(with_losses(losses)).episodes
    assert (episode.first_step, episode.is_open) == (340, False)
    assert "recovered after 80 steps" in episode.finding.message


def test_a_spike_that_does_not_recover_is_reported_as_such() -> None:
    losses = falling()
    losses[400:] += 3.0
    [episode] = evaluate(with_losses(losses)).episodes
    assert episode.is_open
    assert "has not recovered in 200 steps" in episode.finding.message


def test_a_single_step_needs_a_very_large_jump() -> None:
    losses = falling()
    losses[400] = 6.0  # a single hard batch
    assert evaluate(with_losses(losses)).episodes == ()
    losses[400] = 300.0
    [episode] = evaluate(with_losses(losses)).episodes
    assert (episode.first_step, episode.is_open) == (400, False)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_jump_at_a_new_optimizer_is_not_a_spike(seed: int) -> None:
    losses = falling(seed=seed)
    losses[400:] += 3.0 * np.exp(-np.arange(200) / 40)
    assert evaluate(with_losses(losses, optimizers={0: "0", 250: "1"})).episodes
    assert evaluate(with_losses(losses, optimizers={0: "0", 400: "1"})).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_jump_at_a_new_loss_function_is_not_a_spike(seed: int) -> None:
    losses = falling(seed=seed)
    losses[400:] += 3.0
    assert evaluate(with_losses(losses, kinds={0: "Mse", 250: "Nll"})).episodes
    assert evaluate(with_losses(losses, kinds={0: "Mse", 400: "Nll"})).episodes == ()


@pytest.mark.parametrize("noted_at", [400, 412])
def test_a_jump_at_a_new_sample_size_is_not_a_spike(noted_at: int) -> None:
    losses = falling()
    losses[400:] += 3.0 * np.exp(-np.arange(200) / 40)
    assert evaluate(with_losses(losses, sizes={250: "input"})).episodes
    assert evaluate(with_losses(losses, sizes={noted_at: "input"})).episodes == ()


def test_a_learning_rate_restart_is_not_a_spike() -> None:
    losses = falling()
    losses[400:450] += 1.5
    rates = np.full(600, 0.01)
    rates[:100], rates[400:] = 0.1, 0.1
    scalars = {"learning_rate/0": rates.tolist()}
    assert evaluate(with_losses(losses, scalars=scalars)).episodes == ()
    rates[400:] = 1.0  # higher than ever before
    assert evaluate(with_losses(losses, scalars={"learning_rate/0": rates.tolist()})).episodes


def test_negative_losses_are_not_applicable() -> None:
    losses = falling() - 1.0
    losses[400:450] += 3.0
    result = evaluate(with_losses(losses))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_reinforcement_learning_is_not_applicable() -> None:
    job = FakeJob()
    worker = job.worker()
    for step, loss in enumerate(np.append(np.full(200, 0.1), np.full(50, 9.0))):
        worker.scalar("loss", step, float(loss))
        worker.step(step, {"evaluation": 0.01, "forward": 0.1})
    worker.flush()
    result = evaluate(job.end())
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert "reinforcement learning" in (result.reason or "")


@pytest.mark.parametrize(
    ("acts", "is_agent"),
    [
        (lambda rng, _: rng.random() < 0.3, True),
        (lambda _, step: step % 5 == 0, False),
        (lambda _, step: step % 50 == 0, False),
    ],
    ids=["acts by chance", "evaluates every 5 steps", "evaluates every 50 steps"],
)
def test_irregular_evaluations_are_recognized_as_reinforcement_learning(
    acts: Callable[[np.random.Generator, int], bool], is_agent: bool
) -> None:
    job, rng = FakeJob(), np.random.default_rng(0)
    worker = job.worker()
    for step, loss in enumerate(np.append(np.full(200, 0.1), np.full(50, 9.0))):
        worker.scalar("loss", step, float(loss))
        worker.step(step, {"forward": 0.1} | ({"evaluation": 0.01} if acts(rng, step) else {}))
    worker.flush()
    result = evaluate(job.end())
    assert (result.status is RuleStatus.NOT_APPLICABLE) is is_agent
    assert bool(result.episodes) is not is_agent


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_losses(falling(40)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 40 of 101 steps"
