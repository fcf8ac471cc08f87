"""UnshuffledData: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140)
BATCH = 32

Labels = Callable[[int], dict[str, int]]  # step to label counts of its batch


def check(job: FakeJob) -> Evaluation:
    return job.job().check("UnshuffledData")["UnshuffledData"]


def training(labels: Labels, steps: int = 150) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        if step in INSPECTED_STEPS:
            counts = labels(step)
            total = sum(counts.values())
            worker.observation("label-batch", "labels", step, counts, value=total)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def in_order(classes: int, samples: int, *, down: bool = False) -> Labels:
    """Samples sorted by class in every epoch."""

    def labels(step: int) -> dict[str, int]:
        indices = (step * BATCH + np.arange(BATCH)) % samples * classes // samples
        counts = np.bincount(classes - 1 - indices if down else indices)
        return {str(item): int(count) for item, count in enumerate(counts) if count}

    return labels


def drawn(shares: tuple[float, ...]) -> Labels:
    def labels(step: int) -> dict[str, int]:
        counts = np.random.default_rng(step).multinomial(BATCH, shares)
        return {str(item): int(count) for item, count in enumerate(counts) if count}

    return labels


@pytest.mark.parametrize("down", [False, True])
def test_samples_sorted_by_class_are_reported_in_the_first_epoch(down: bool) -> None:
    [episode] = check(training(in_order(10, 1797, down=down), steps=45)).episodes
    assert episode.first_step == 0
    assert "almost entirely of one class" in episode.finding.message


def test_two_long_classes_are_reported_once_both_have_been_seen() -> None:
    job = training(in_order(2, 100 * BATCH), steps=150)
    assert check(job).episodes


def alternating(step: int) -> dict[str, int]:
    return {str(step % 2): BATCH}


def one_class_at_random(step: int) -> dict[str, int]:
    return {str(int(np.random.default_rng(step).integers(10))): BATCH}


HEALTHY: dict[str, Labels] = {
    "shuffled": drawn((0.1,) * 10),
    "shuffled, two classes": drawn((0.5, 0.5)),
    "one dominant class": drawn((0.97, 0.03)),
    "one class only": lambda _: {"0": BATCH},
    "real and generated samples alternate": alternating,
    "batches of one class on purpose": one_class_at_random,
    "a class per sample": lambda _: {str(index): 1 for index in range(BATCH)},
    "two classes in each batch": lambda step: {str(step % 10): 16, str((step + 5) % 10): 16},
    "tiny batches": lambda step: {str(step // 10): 2},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_batches_are_not_reported(name: str) -> None:
    assert check(training(HEALTHY[name])).episodes == ()


def test_few_batches_are_not_enough_data() -> None:
    result = check(training(in_order(10, 1797), steps=5))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 4 of 6 inspections"


Batches = Callable[[int], FloatArray]  # step to values of its batch


def with_batch_means(
    batches: dict[str, Batches], steps: int = 400, *, plays: bool = False
) -> FakeJob:
    """A job with recorded means of batches."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.step(step, {"forward": 0.1, "evaluation": 0.1} if plays else {"forward": 0.1})
        for subject, values in batches.items() if step % 100 == 99 else ():
            rows = np.stack([values(index) for index in range(step - 99, step + 1)])
            within = rows.var(1, ddof=1).mean()
            facts = {
                "means": rows.mean(1).round(3).tolist(),
                "within": within,
                "rough": np.square(np.diff(rows, axis=1)).mean() / 2 / within if within else 1.0,
                "size": rows.shape[1],
            }
            worker.observation("batch-means", subject, step, facts, value=100)
    worker.flush()
    return job.end()


def noise(seed: int, count: int = BATCH) -> FloatArray:
    return np.random.default_rng(seed).normal(size=count)


def sites(step: int) -> FloatArray:
    """Four sites with 20 batches each, in the same order in every epoch."""
    index = step % 80
    return noise(index) + (-1.0, 0.5, 1.5, -0.5)[index // 20]


def sites_shuffled_inside(step: int) -> FloatArray:
    return noise(step) + (-1.0, 0.5, 1.5, -0.5)[step % 80 // 20]


def sorted_targets(step: int) -> FloatArray:
    ordered = np.sort(noise(7, 60 * BATCH))
    return ordered[step % 60 * BATCH :][:BATCH]


def classes_in_blocks(step: int) -> FloatArray:
    return np.full(BATCH, (3.0, 0.0, 2.0, 1.0)[step % 60 // 15])


@pytest.mark.parametrize(
    ("batches", "period"),
    [
        (sites, 80),
        (sites_shuffled_inside, 80),
        (sorted_targets, 60),
        (classes_in_blocks, 60),
    ],
)
@pytest.mark.parametrize("subject", ["labels", "input"])
def test_batch_means_in_the_same_order_every_epoch_are_reported(
    batches: Batches, period: int, subject: str
) -> None:
    [episode] = check(with_batch_means({subject: batches})).episodes
    assert episode.finding.evidence["period"] == pytest.approx(period, abs=1)
    assert subject in episode.finding.message


def fixed_order(step: int) -> FloatArray:
    return noise(step % 40)


def curriculum(step: int) -> FloatArray:
    return noise(step) + step / 40


def tasks_at_random(step: int) -> FloatArray:
    return noise(step, BATCH) + 3 * float(noise(10**6 + step, 1)[0])


def wandering(step: int) -> FloatArray:
    path = np.cumsum(noise(3, 1000))
    return noise(step) + float(path[step]) / 3


def consecutive_windows(step: int) -> FloatArray:
    """Batches are consecutive windows of a time series, as for a stateful RNN."""
    return np.sin((step % 50 * BATCH + np.arange(BATCH)) / 200)


def two_kinds_in_turn(step: int) -> FloatArray:
    return noise(step) + 2 * (step % 6 < 3)


def second_task(step: int) -> FloatArray:
    return noise(step) + 2 * (step > 200)


ORDERS: dict[str, Batches] = {
    "shuffled": noise,
    "well mixed data in a fixed order": fixed_order,
    "a curriculum": curriculum,
    "a random task per batch": tasks_at_random,
    "targets that follow the model": wandering,
    "a time series": consecutive_windows,
    "two alternating kinds": two_kinds_in_turn,
    "another task later": second_task,
    "constant": lambda _: np.ones(BATCH),
}


@pytest.mark.parametrize("name", ORDERS)
def test_other_orders_are_not_reported(name: str) -> None:
    assert check(with_batch_means({"labels": ORDERS[name]})).episodes == ()


def test_noisy_labels_of_a_time_series_are_not_reported() -> None:
    def noisy(step: int) -> FloatArray:
        return 5 * consecutive_windows(step) + noise(step % 50)

    both = with_batch_means({"labels": noisy, "input": consecutive_windows})
    assert check(both).episodes == ()
    [episode] = check(with_batch_means({"labels": noisy, "input": noise})).episodes
    assert "labels" in episode.finding.message


@pytest.mark.parametrize(
    ("batches", "length", "is_reported"),
    [
        (lambda step: noise(step) - 1.5 * (step // 34 % 3 > 0), 34, False),  # three losses
        (lambda step: noise(step) - 1.5 * (step // 34 % 3 > 0), 100, True),  # three sites
        (sites, 34, True),  # two losses and an order
    ],
)
def test_labels_of_alternating_losses_are_not_an_order(
    batches: Batches, length: int, is_reported: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(612):
        worker.step(step, {"forward": 0.1})
        if step % length == length - 1:
            rows = np.stack([batches(index) for index in range(step - length + 1, step + 1)])
            within = float(rows.var(1, ddof=1).mean())
            means = rows.mean(1).round(3).tolist()
            facts = {"means": means, "within": within, "rough": 1.0, "size": BATCH}
            worker.observation("batch-means", "labels", step, facts, value=length)
    worker.flush()
    assert bool(check(job.end()).episodes) is is_reported


def test_reinforcement_learning_is_not_reported() -> None:
    assert check(with_batch_means({"labels": sites}, plays=True)).episodes == ()
