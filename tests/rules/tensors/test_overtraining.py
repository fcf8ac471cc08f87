"""Overtraining: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import noisy, with_evaluations, with_losses

SEEDS = range(3)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("Overtraining", **parameters)["Overtraining"]


def falling(step: int, by: float = 60.0) -> float:
    return 0.4 + 2.0 * float(np.exp(-step / by))


@pytest.mark.parametrize("seed", SEEDS)
def test_validation_loss_without_progress_is_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    job = with_evaluations(falling, lambda step: falling(step) + 0.01 * rng.standard_normal(), 80)
    [episode] = check(job).episodes
    assert "The validation loss has not improved since step" in episode.finding.message
    assert episode.finding.evidence["best"] == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_training_loss_is_used_without_evaluations(seed: int) -> None:
    losses = noisy(lambda at: 0.4 + 2 * np.exp(-at / 100), 8000, 0.05, seed)
    [episode] = check(with_losses(losses)).episodes
    assert episode.finding.subject == "training"


@pytest.mark.parametrize("seed", SEEDS)
def test_short_plateau_and_slow_progress_are_not_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for by, evaluations in ((60.0, 15), (800.0, 60)):
        noise = 0.01 * rng.standard_normal(20 * evaluations)
        losses = [falling(step, by) + noise[step] for step in range(20 * evaluations)]
        assert check(with_evaluations(falling, losses.__getitem__, evaluations)).episodes == ()
    assert check(with_losses(noisy(lambda at: 2.0 + 0 * at, 3000, 0.05, seed))).episodes == ()


def test_finding_is_resolved_when_a_plateau_ends() -> None:
    def grokking(step: int) -> float:
        return falling(step) + (1.0 if step < 1500 else 0.0)

    [episode] = check(with_evaluations(falling, grokking, 80)).episodes
    assert not episode.is_open


def test_rising_validation_loss_is_left_to_overfit() -> None:
    assert (
        check(with_evaluations(falling, lambda step: falling(step) + step / 900, 80)).episodes == ()
    )


def test_loss_that_changes_sign_is_not_reported() -> None:
    losses = np.random.default_rng(0).standard_normal(7000)
    result = check(with_losses(losses))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_short_job_reports_how_much_data_is_missing() -> None:
    assert check(with_losses([1.0] * 100)).reason == "Not enough data: 100 of 5,000 steps"


def test_explicit_patience_applies() -> None:
    job = with_evaluations(falling, lambda _: 1.0, 12)
    assert check(job).episodes == ()
    assert check(job, patience_validation=8).episodes


def test_classic_setting_follows_the_documented_criterion() -> None:
    losses = [1.0, 0.995, 0.98, 0.98, 0.975, 0.97, 0.971, 0.5, 0.5]
    job = with_losses(losses)
    # no improvement by more than 0.01 since 0.98: four steps to 0.971
    assert check(job, setting="classic", delta=0.01, patience_train=4).triggered == 1
    assert check(job, setting="classic", delta=0.01, patience_train=3).triggered == 2
    assert check(job, setting="classic", delta=0.01).triggered == 0
    evaluated = with_evaluations(lambda step: -step, lambda _: 1.0, 12)
    result = check(evaluated, setting="classic")
    assert [episode.finding.subject for episode in result.episodes] == ["validation"]
    assert result.triggered == 2
