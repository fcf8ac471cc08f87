"""LossNotDecreasing: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import noisy, with_losses

SEEDS = range(5)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("LossNotDecreasing", **parameters)["LossNotDecreasing"]


def flat(steps: int, noise: float, seed: int = 0) -> FloatArray:
    return noisy(lambda at: np.full_like(at, 2.3), steps, noise, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("noise", [0.005, 0.03, 0.1])
def test_flat_loss_is_reported(noise: float, seed: int) -> None:
    result = check(with_losses(flat(700, noise, seed)))
    assert result.status is RuleStatus.ISSUES_FOUND
    [episode] = result.episodes
    assert "has not decreased" in episode.finding.message
    assert episode.finding.evidence["start"] == pytest.approx(2.3, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_tiny_certain_decrease_is_reported(seed: int) -> None:
    losses = noisy(lambda at: 2.3 - 0.005 * at / 700, 700, 0.001, seed)
    assert check(with_losses(losses)).episodes


@pytest.mark.parametrize("seed", SEEDS)
def test_small_decrease_hidden_by_noise_is_not_reported(seed: int) -> None:
    losses = noisy(lambda at: 2.3 - 0.5 * at / 500, 500, 0.3, seed)
    assert check(with_losses(losses)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_rising_loss_is_reported(seed: int) -> None:
    losses = noisy(lambda at: 2.3 + at / 200, 700, 0.05, seed)
    [episode] = check(with_losses(losses)).episodes
    assert "has increased" in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_that_only_recovers_from_an_explosion_is_reported(seed: int) -> None:
    losses = noisy(lambda at: 2.6 + 900 * np.exp(-at / 3), 700, 0.1, seed)
    losses[:2] = 2.3, 40.0
    assert check(with_losses(losses)).episodes


@pytest.mark.parametrize("seed", SEEDS)
def test_finished_job_is_evaluated_with_fewer_steps(seed: int) -> None:
    assert check(with_losses(flat(160, 0.03, seed))).episodes


HEALTHY = {
    "falls quickly and then levels off": lambda at: 2.3 * np.exp(-at / 8) + 0.1,
    "falls slowly": lambda at: 2.3 * np.exp(-at / 1500),
    "flat for 400 steps, then falls": lambda at: np.where(at < 400, 2.3, 0.6),
    "falls, then a long plateau": lambda at: 0.5 + 1.8 * np.exp(-at / 60),
    "falls, then rises slightly (left to Overfit)": lambda at: (
        0.5 + 1.8 * np.exp(-at / 60) + at / 3000
    ),
    "falls in small stairs": lambda at: 2.3 - 0.2 * (at // 100),
    "negative from the start, and falls": lambda at: -1 - at / 300,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_losses_are_not_reported(name: str, seed: int) -> None:
    losses = noisy(HEALTHY[name], 900, 0.1, seed)
    result = check(with_losses(losses))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_that_switches_to_hard_samples_is_not_reported(seed: int) -> None:
    def hard_samples(at: FloatArray) -> FloatArray:
        return np.where(at < 55, 0.12 + 0.55 * np.exp(-at / 8), 0.55 + 0.1 * np.exp(-at / 60))

    assert check(with_losses(noisy(hard_samples, 330, 0.05, seed))).episodes == ()


def test_loss_that_changes_sign_is_not_reported() -> None:
    losses = np.random.default_rng(0).standard_normal(800)
    assert check(with_losses(losses)).episodes == ()


def test_resumed_training_is_not_reported() -> None:
    assert check(with_losses(flat(800, 0.03), first_step=20_000)).episodes == ()


def test_learning_rate_warmup_does_not_count() -> None:
    losses = np.append(flat(700, 0.03), noisy(lambda at: 2.3 * np.exp(-at / 50), 100, 0.03))
    rates = np.minimum(np.arange(800) / 700, 1.0) * 1e-3
    job = with_losses(losses, scalars={"learning_rate/0": rates.tolist()})
    assert check(job).episodes == ()


def test_rule_does_not_apply_to_alternating_losses() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(700):
        worker.scalar("loss/0", step, 0.7).scalar("loss/1", step, 0.7)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = check(job.end())
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert "alternating losses" in (result.reason or "")


def test_spikes_and_nan_are_not_reported() -> None:
    losses = noisy(lambda at: 2.3 * np.exp(-at / 100) + 0.2, 700, 0.05)
    losses[::50] = 1e6
    losses[7::90] = np.nan
    assert check(with_losses(losses)).episodes == ()


def test_short_job_reports_how_much_data_is_missing() -> None:
    result = check(with_losses(flat(40, 0.03)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 40 of 150 steps"


def test_finding_is_resolved_when_the_loss_falls_later() -> None:
    losses = np.append(flat(2100, 0.02), noisy(lambda at: 2.3 * np.exp(-at / 80), 900, 0.02))
    [episode] = check(with_losses(losses)).episodes
    assert not episode.is_open


def test_explicit_steps_apply() -> None:
    assert check(with_losses(flat(1200, 0.03)), num_steps=5000).episodes == ()


def test_classic_setting_follows_the_documented_criterion() -> None:
    losses = [10.0] * 41
    for step, value in ((10, 9.995), (20, 9.0), (30, 9.5), (40, 8.0)):
        losses[step] = value
    result = check(with_losses(losses), setting="classic")
    # changes over 10 steps: slightly down, down, up, down
    assert result.triggered == 2
    assert [(episode.first_step, episode.last_step) for episode in result.episodes] == [
        (0, 10),
        (20, 30),
    ]
    assert result.episodes[0].finding.evidence["fall_percent"] == pytest.approx(0.05)


def test_classic_setting_prefers_evaluation_losses() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.scalar("loss", step, 1.0 / (step + 1))
        worker.scalar("loss", step, 3.0, mode="eval")
        worker.step(step, {"forward": 0.1})
    worker.flush()
    [episode] = check(job.end(), setting="classic").episodes
    assert episode.finding.subject == "loss/eval"


def test_pattern_selects_another_scalar_as_loss() -> None:
    job = with_losses(noisy(lambda at: 2.3 * np.exp(-at / 50), 300, 0.02))
    worker = job.worker(restart=1)
    for step in range(300):
        worker.scalar("perplexity", step, 10.0 + 0.01 * (step % 3)).step(step, {"forward": 0.1})
    worker.flush()
    job.end()
    [episode] = check(job, tensor_regex="perplex").episodes
    assert "perplexity has not decreased" in episode.finding.message
    assert check(job, tensor_regex="perplex").datapoints == 300


def test_the_global_mode_checks_the_losses_of_all_modes() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(40):
        worker.scalar("loss", step, 3.0 - step / 20).scalar("loss", step, 3.0, mode="eval")
        worker.step(step, {"forward": 0.1})
    worker.flush()
    job.end()
    assert check(job, setting="classic", mode="TRAIN").triggered == 0
    assert check(job, setting="classic", mode="GLOBAL").triggered == 3
