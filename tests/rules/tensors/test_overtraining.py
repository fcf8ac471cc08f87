"""Overtraining: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import noisy, with_evaluations, with_losses

SEEDS = range(3)


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("Overtraining", **parameters)["Overtraining"]


def falling(step: int, by: float = 60.0) -> float:
    return 0.4 + 2.0 * float(np.exp(-step / by))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_validation_that_has_long_been_done_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    job = with_evaluations(falling, lambda step: falling(step) + 0.01 * rng.standard_normal(), 80)
    [episode] = judged(job).episodes
    assert "The validation loss has not improved since step" in episode.finding.message
    assert episode.finding.evidence["best"] == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_is_evaluated_the_training_loss_tells(seed: int) -> None:
    losses = noisy(lambda at: 0.4 + 2 * np.exp(-at / 100), 8000, 0.05, seed)
    [episode] = judged(with_losses(losses)).episodes
    assert episode.finding.subject == "training"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_short_plateau_and_slow_progress_are_left_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for by, evaluations in ((60.0, 15), (800.0, 60)):
        noise = 0.01 * rng.standard_normal(20 * evaluations)
        losses = [falling(step, by) + noise[step] for step in range(20 * evaluations)]
        assert judged(with_evaluations(falling, losses.__getitem__, evaluations)).episodes == ()
    assert judged(with_losses(noisy(lambda at: 2.0 + 0 * at, 3000, 0.05, seed))).episodes == ()


def test_a_plateau_that_ends_is_over() -> None:
    def grokking(step: int) -> float:
        return falling(step) + (1.0 if step < 1500 else 0.0)

    [episode] = judged(with_evaluations(falling, grokking, 80)).episodes
    assert not episode.is_open


def test_a_validation_that_turns_is_overfitting() -> None:
    assert (
        judged(with_evaluations(falling, lambda step: falling(step) + step / 900, 80)).episodes
        == ()
    )


def test_a_loss_that_changes_its_sign_need_not_fall() -> None:
    losses = np.random.default_rng(0).standard_normal(7000)
    result = judged(with_losses(losses))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_a_short_job_is_told_what_is_missing() -> None:
    assert judged(with_losses([1.0] * 100)).reason == "Not enough data: 100 of 5,000 steps"


def test_a_given_patience_holds() -> None:
    job = with_evaluations(falling, lambda _: 1.0, 12)
    assert judged(job).episodes == ()
    assert judged(job, patience_validation=8).episodes


def test_classic_is_the_criterion_to_the_letter() -> None:
    losses = [1.0, 0.995, 0.98, 0.98, 0.975, 0.97, 0.971, 0.5, 0.5]
    job = with_losses(losses)
    # since 0.98 nothing is better by more than 0.01: four steps to 0.971
    assert judged(job, setting="classic", patience_train=4).triggered == 1
    assert judged(job, setting="classic", patience_train=3).triggered == 2
    assert judged(job, setting="classic").triggered == 0
    evaluated = with_evaluations(lambda step: -step, lambda _: 1.0, 12)
    result = judged(evaluated, setting="classic")
    assert [episode.finding.subject for episode in result.episodes] == ["validation"]
    assert result.triggered == 2
