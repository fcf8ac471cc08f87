"""LossNotDecreasing with recorded labels and predictions."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation
from tests.fakes.job import FakeJob
from tests.fakes.training import inspected_steps, noisy
from tests.fakes.worker import FakeWorker

Inspection = Callable[[FakeWorker, int], None]

SEEDS = range(3)
STEPS = 600


def check(losses: FloatArray, inspection: Inspection) -> Evaluation:
    job = FakeJob()
    worker = job.worker()
    inspected = set(inspected_steps(len(losses)))
    for step, loss in enumerate(losses):
        if step in inspected:
            inspection(worker, step)
        worker.scalar("loss", step, float(loss)).step(step, {"forward": 0.1})
    worker.flush()
    return job.end().job().check("LossNotDecreasing")["LossNotDecreasing"]


def falling_to(level: float, seed: int = 0, noise: float = 0.08) -> FloatArray:
    return noisy(lambda at: level * (1 + 5 * np.exp(-at / 15)), STEPS, noise, seed)


def regression(share: float, shape: tuple[int, ...] = (64,)) -> Inspection:
    """Predictions with a share of the variance of the labels."""

    def inspection(worker: FakeWorker, step: int) -> None:
        spread = np.random.default_rng(step).standard_normal(64)
        worker.add_tensor("labels", "labels", shape=(64,)).statistics("labels", step, 3 * spread)
        worker.add_tensor("predictions", "predictions", shape=shape)
        worker.statistics("predictions", step, 3 * np.sqrt(share) * spread)

    return inspection


def classes(accuracy: float) -> Inspection:
    """Four classes of equal size, predicted with an accuracy."""

    def inspection(worker: FakeWorker, step: int) -> None:
        right = round(16 * accuracy)
        hits = {str(name): [right, 16 - right] for name in range(4)}
        worker.observation("class-hits", "predictions", step, hits, value=64)

    return inspection


@pytest.mark.parametrize("seed", SEEDS)
def test_constant_predictions_are_reported_although_the_loss_fell_at_first(seed: int) -> None:
    [episode] = check(falling_to(9.0, seed), regression(0.004)).episodes
    assert "has not decreased for most of the time" in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_broadcasting_of_predictions_against_labels_is_explained(seed: int) -> None:
    [episode] = check(falling_to(9.0, seed), regression(0.1, (64, 1))).episodes
    text = "Predictions of shape (64, 1) are compared with labels of shape (64)"
    assert text in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_noisy_flat_loss_is_reported_only_with_constant_predictions(
    seed: int,
) -> None:
    flat = noisy(lambda at: np.full_like(at, 9.0), STEPS, 0.2, seed)
    assert check(flat, regression(0.004)).episodes
    falling = noisy(lambda at: 9.0 - 0.6 * at / STEPS, STEPS, 0.2, seed)
    assert check(falling, regression(0.06)).episodes == ()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_plateau_with_predictions_that_vary_with_the_labels_is_not_reported(share: float) -> None:
    assert check(falling_to(2.0), regression(share)).episodes == ()


def test_custom_loss_that_squeezes_predictions_is_not_reported() -> None:
    assert check(falling_to(2.0), regression(0.8, (64, 1))).episodes == ()


def test_constant_predictions_are_not_reported_while_the_loss_falls() -> None:
    falling = noisy(lambda at: 9.0 - at / 100, STEPS, 0.05)
    assert check(falling, regression(0.004)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_models_trained_in_turn_may_each_start_with_constant_predictions(seed: int) -> None:
    losses = noisy(lambda at: 1.0 + 8.0 * np.exp(-(at % 112) / 60), STEPS, 0.08, seed)
    assert check(losses, regression(0.004)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_guessed_classes_are_reported_although_the_loss_fell_at_first(seed: int) -> None:
    result = check(falling_to(float(np.log(4)), seed, noise=0.02), classes(0.25))
    assert len(result.episodes) == 1


def test_chance_accuracy_with_a_loss_below_chance_is_not_reported() -> None:
    assert check(falling_to(1.2, noise=0.02), classes(0.25)).episodes == ()


def test_loss_slightly_below_chance_with_rare_classes_is_not_reported() -> None:
    def inspection(worker: FakeWorker, step: int) -> None:
        worker.observation("class-hits", "predictions", step, {"0": [53, 0], "1": [0, 11]})

    guess = -(53 * np.log(53 / 64) + 11 * np.log(11 / 64)) / 64
    assert check(falling_to(float(guess), noise=0.02), inspection).episodes == ()


@pytest.mark.parametrize(("right", "is_guess"), [(8, False), (2, True)])
def test_weighted_classes_may_have_an_accuracy_below_the_majority_class(
    right: int, is_guess: bool
) -> None:
    """`right` of ten rare samples are found; a fifth of the others is mistaken for them."""

    def inspection(worker: FakeWorker, step: int) -> None:
        hits = {"0": [72, 18], "1": [right, 10 - right]}
        worker.observation("class-hits", "predictions", step, hits, value=100)

    assert bool(check(falling_to(0.8, noise=0.05), inspection).episodes) is is_guess


def test_flat_loss_of_an_accurate_classifier_is_not_reported() -> None:
    flat = noisy(lambda at: np.full_like(at, 0.3), STEPS, 0.1)
    assert check(flat, classes(0.9)).episodes == ()
    assert check(flat, classes(0.25)).episodes


def test_flat_loss_of_an_accurate_regression_is_not_reported() -> None:
    flat = noisy(lambda at: np.full_like(at, 1.0), STEPS, 0.1)  # the variance of labels is 9
    assert check(flat, regression(0.9)).episodes == ()
    assert check(9 * flat, regression(0.9)).episodes
    assert check(flat, regression(0.004)).episodes
