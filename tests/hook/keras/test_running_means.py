"""Losses of batches from the running means of Keras."""

from itertools import accumulate

import pytest

from sonde.hook.keras.running_means import Mean, RunningMeans


def means_of(losses: list[float], sizes: list[float]) -> list[float]:
    """The running mean after each batch."""
    totals = list(accumulate(loss * size for loss, size in zip(losses, sizes, strict=True)))
    return [total / weight for total, weight in zip(totals, accumulate(sizes), strict=True)]


def add(means: RunningMeans, values: list[float], first: int = 0, batches: int = 1) -> None:
    for step, value in enumerate(values, first):
        means.add(Mean(step, step, value), batches)


def read(means: RunningMeans, weight: float | None) -> list[float]:
    return [loss.value for loss in means.read(weight, float)]


def test_losses_are_those_of_the_batches() -> None:
    losses, sizes = [4.0, 3.0, 2.5, 1.0], [32.0] * 4
    means, values = RunningMeans(), means_of([4.0, 3.0, 2.5, 1.0], sizes)
    add(means, values[:1])
    first = read(means, 32.0)
    add(means, values[1:], first=1)
    assert first + read(means, 128.0) == pytest.approx(losses)


def test_the_last_batch_may_be_smaller() -> None:
    losses, sizes = [4.0, 3.0, 2.0], [32.0, 32.0, 5.0]
    means, values = RunningMeans(), means_of(losses, sizes)
    add(means, values[:1])
    first = read(means, 32.0)
    add(means, values[1:], first=1)
    assert first + read(means, 69.0) == pytest.approx(losses)


def test_an_epoch_begins_with_an_exact_loss() -> None:
    means = RunningMeans()
    add(means, means_of([4.0, 3.0], [8.0, 8.0]))
    read(means, 16.0)
    means.restart()
    add(means, [0.1], first=2)
    assert read(means, 8.0) == [0.1]


def test_losses_can_be_read_without_a_weight() -> None:
    losses = [4.0, 3.0, 2.0]
    means, values = RunningMeans(), means_of(losses, [16.0] * 3)
    add(means, values[:1])
    first = read(means, 16.0)
    add(means, values[1:], first=1)
    assert first + read(means, None) == pytest.approx(losses)


def test_a_loss_may_be_the_mean_of_several_batches() -> None:
    losses = [4.0, 3.0, 2.0, 1.0]
    means = RunningMeans()
    add(means, means_of(losses, [16.0] * 4)[1::2], batches=2)
    assert read(means, 64.0) == pytest.approx([3.5, 1.5])


def test_losses_that_a_model_reports_itself_are_unchanged() -> None:
    means = RunningMeans()
    add(means, [4.0, 3.0])
    assert [loss.value for loss in means.read_each(float)] == [4.0, 3.0]
