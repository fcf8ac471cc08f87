"""UnshuffledData: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140)
BATCH = 32

Labels = Callable[[int], dict[str, int]]  # of the batch of a step


def judged(job: FakeJob) -> Evaluation:
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
    """Samples that are sorted by class, epoch after epoch."""

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
def test_samples_in_the_order_of_their_class_are_found_in_the_first_epoch(down: bool) -> None:
    [episode] = judged(training(in_order(10, 1797, down=down), steps=45)).episodes
    assert episode.first_step == 0
    assert "almost entirely of one class" in episode.finding.message


def test_two_long_classes_are_found_when_the_second_has_been_seen() -> None:
    job = training(in_order(2, 100 * BATCH), steps=150)
    assert judged(job).episodes


def alternating(step: int) -> dict[str, int]:
    return {str(step % 2): BATCH}


def one_class_at_random(step: int) -> dict[str, int]:
    return {str(int(np.random.default_rng(step).integers(10))): BATCH}


HEALTHY: dict[str, Labels] = {
    "shuffled": drawn((0.1,) * 10),
    "shuffled, two classes": drawn((0.5, 0.5)),
    "hardly any other class": drawn((0.97, 0.03)),
    "one class only": lambda _: {"0": BATCH},
    "real and made up in turn": alternating,
    "batches of one class on purpose": one_class_at_random,
    "each sample its own class": lambda _: {str(index): 1 for index in range(BATCH)},
    "two classes in each batch": lambda step: {str(step % 10): 16, str((step + 5) % 10): 16},
    "tiny batches": lambda step: {str(step // 10): 2},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_batches_are_left_alone(name: str) -> None:
    assert judged(training(HEALTHY[name])).episodes == ()


def test_enough_batches_are_needed() -> None:
    result = judged(training(in_order(10, 1797), steps=5))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 4 of 6 inspections"


Batches = Callable[[int], FloatArray]  # the labels of the batch of a step


def followed(batches: dict[str, Batches], steps: int = 400, *, plays: bool = False) -> FakeJob:
    """A training whose batches are followed."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.step(step, {"forward": 0.1, "evaluation": 0.1} if plays else {"forward": 0.1})
        for subject, state_of_subject in batches.items() if step % 100 == 99 else ():
            rows = np.stack([state_of_subject(index) for index in range(step - 99, step + 1)])
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
    """Four of them, twenty batches each, in the same order in every epoch."""
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
def test_means_that_come_in_the_same_order_in_every_epoch_are_found(
    batches: Batches, period: int, subject: str
) -> None:
    [episode] = judged(followed({subject: batches})).episodes
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
    """A batch is a stretch of a series, as for a network that keeps its state."""
    return np.sin((step % 50 * BATCH + np.arange(BATCH)) / 200)


def two_kinds_in_turn(step: int) -> FloatArray:
    return noise(step) + 2 * (step % 6 < 3)


def second_task(step: int) -> FloatArray:
    return noise(step) + 2 * (step > 200)


ORDERS: dict[str, Batches] = {
    "shuffled": noise,
    "the same order of well mixed data": fixed_order,
    "ever harder": curriculum,
    "a task for each batch": tasks_at_random,
    "targets that move with the model": wandering,
    "a series": consecutive_windows,
    "two kinds in turn": two_kinds_in_turn,
    "another task later": second_task,
    "all the same": lambda _: np.ones(BATCH),
}


@pytest.mark.parametrize("name", ORDERS)
def test_other_orders_are_left_alone(name: str) -> None:
    assert judged(followed({"labels": ORDERS[name]})).episodes == ()


def test_labels_of_a_series_are_those_of_a_series_however_noisy() -> None:
    def noisy(step: int) -> FloatArray:
        return 5 * consecutive_windows(step) + noise(step % 50)

    both = followed({"labels": noisy, "input": consecutive_windows})
    assert judged(both).episodes == ()
    [episode] = judged(followed({"labels": noisy, "input": noise})).episodes
    assert "labels" in episode.finding.message


@pytest.mark.parametrize(
    ("batches", "length", "is_found"),
    [
        (lambda step: noise(step) - 1.5 * (step // 34 % 3 > 0), 34, False),  # three losses
        (lambda step: noise(step) - 1.5 * (step // 34 % 3 > 0), 100, True),  # three sites
        (sites, 34, True),  # two losses, and an order
    ],
)
def test_labels_of_several_losses_are_no_order(
    batches: Batches, length: int, is_found: bool
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
    assert bool(judged(job.end()).episodes) is is_found


def test_what_a_model_plays_is_left_alone() -> None:
    assert judged(followed({"labels": sites}, plays=True)).episodes == ()
