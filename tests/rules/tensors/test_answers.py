"""LossNotDecreasing, where labels and predictions tell what the model has learned."""

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


def judged(losses: FloatArray, inspection: Inspection) -> Evaluation:
    job = FakeJob()
    worker = job.worker()
    looked = set(inspected_steps(len(losses)))
    for step, loss in enumerate(losses):
        if step in looked:
            inspection(worker, step)
        worker.scalar("loss", step, float(loss)).step(step, {"forward": 0.1})
    worker.flush()
    return job.end().job().check("LossNotDecreasing")["LossNotDecreasing"]


def came_down_to(level: float, seed: int = 0, noise: float = 0.08) -> FloatArray:
    return noisy(lambda at: level * (1 + 5 * np.exp(-at / 15)), STEPS, noise, seed)


def regression(share: float, shape: tuple[int, ...] = (64,)) -> Inspection:
    """Predictions that vary by a share of what labels do."""

    def inspection(worker: FakeWorker, step: int) -> None:
        spread = np.random.default_rng(step).standard_normal(64)
        worker.add_tensor("labels", "labels", shape=(64,)).statistics("labels", step, 3 * spread)
        worker.add_tensor("predictions", "predictions", shape=shape)
        worker.statistics("predictions", step, 3 * np.sqrt(share) * spread)

    return inspection


def classes(accuracy: float) -> Inspection:
    """Four classes, as many samples of each, of which so many are known."""

    def inspection(worker: FakeWorker, step: int) -> None:
        right = round(16 * accuracy)
        hits = {str(name): [right, 16 - right] for name in range(4)}
        worker.observation("class-hits", "predictions", step, hits, value=64)

    return inspection


@pytest.mark.parametrize("seed", SEEDS)
def test_one_number_for_everything_is_found_though_the_loss_came_down_at_first(seed: int) -> None:
    [episode] = judged(came_down_to(9.0, seed), regression(0.004)).episodes
    assert "has not decreased for most of the time" in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_each_answer_compared_with_every_label_is_said(seed: int) -> None:
    [episode] = judged(came_down_to(9.0, seed), regression(0.1, (64, 1))).episodes
    texts = "Predictions of shape (64, 1) are compared with labels of shape (64)"
    assert texts in episode.finding.message


@pytest.mark.parametrize("seed", SEEDS)
def test_in_much_noise_it_takes_one_number_for_everything_to_say_that_nothing_falls(
    seed: int,
) -> None:
    flat = noisy(lambda at: np.full_like(at, 9.0), STEPS, 0.2, seed)
    assert judged(flat, regression(0.004)).episodes
    falling = noisy(lambda at: 9.0 - 0.6 * at / STEPS, STEPS, 0.2, seed)
    assert judged(falling, regression(0.06)).episodes == ()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_numbers_that_vary_with_the_labels_may_stand_still(share: float) -> None:
    assert judged(came_down_to(2.0), regression(share)).episodes == ()


def test_a_loss_of_its_own_that_takes_the_axis_away_is_left_alone() -> None:
    assert judged(came_down_to(2.0), regression(0.8, (64, 1))).episodes == ()


def test_one_number_for_everything_is_no_fault_while_the_loss_falls() -> None:
    falling = noisy(lambda at: 9.0 - at / 100, STEPS, 0.05)
    assert judged(falling, regression(0.004)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_models_one_after_another_each_begin_with_one_number_for_everything(seed: int) -> None:
    each = noisy(lambda at: 1.0 + 8.0 * np.exp(-(at % 112) / 60), STEPS, 0.08, seed)
    assert judged(each, regression(0.004)).episodes == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_classes_that_are_guessed_are_found_though_the_loss_came_down_at_first(seed: int) -> None:
    result = judged(came_down_to(float(np.log(4)), seed, noise=0.02), classes(0.25))
    assert len(result.episodes) == 1


def test_classes_that_are_guessed_with_a_better_loss_than_a_guess_are_left_alone() -> None:
    assert judged(came_down_to(1.2, noise=0.02), classes(0.25)).episodes == ()


def test_a_loss_a_little_below_a_guess_among_rare_classes_is_left_alone() -> None:
    def inspection(worker: FakeWorker, step: int) -> None:
        worker.observation("class-hits", "predictions", step, {"0": [53, 0], "1": [0, 11]})

    guess = -(53 * np.log(53 / 64) + 11 * np.log(11 / 64)) / 64
    assert judged(came_down_to(float(guess), noise=0.02), inspection).episodes == ()


@pytest.mark.parametrize(("result", "is_guess"), [(8, False), (2, True)])
def test_classes_with_weights_are_known_though_one_for_all_would_be_right_more_often(
    result: int, is_guess: bool
) -> None:
    """Of ten rare ones so many are found; a fifth of all others is taken for one."""

    def inspection(worker: FakeWorker, step: int) -> None:
        hits = {"0": [72, 18], "1": [result, 10 - result]}
        worker.observation("class-hits", "predictions", step, hits, value=100)

    assert bool(judged(came_down_to(0.8, noise=0.05), inspection).episodes) is is_guess


def test_a_model_that_knows_its_classes_already_may_stand_still() -> None:
    flat = noisy(lambda at: np.full_like(at, 0.3), STEPS, 0.1)
    assert judged(flat, classes(0.9)).episodes == ()
    assert judged(flat, classes(0.25)).episodes


def test_a_model_that_knows_its_numbers_already_may_stand_still() -> None:
    flat = noisy(lambda at: np.full_like(at, 1.0), STEPS, 0.1)  # the variance of labels is 9
    assert judged(flat, regression(0.9)).episodes == ()
    assert judged(9 * flat, regression(0.9)).episodes
    assert judged(flat, regression(0.004)).episodes
