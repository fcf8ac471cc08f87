"""UnshuffledData: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

LOOKS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93, 140)
BATCH = 32

Labels = Callable[[int], dict[str, int]]  # of the batch of a step


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("UnshuffledData")["UnshuffledData"]


def training(labels: Labels, steps: int = 150) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        if step in LOOKS:
            counts = labels(step)
            total = sum(counts.values())
            worker.observation("label-batch", "labels", step, counts, value=total)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def in_order(classes: int, samples: int, *, down: bool = False) -> Labels:
    """Samples that are sorted by class, epoch after epoch."""

    def labels(step: int) -> dict[str, int]:
        places = (step * BATCH + np.arange(BATCH)) % samples * classes // samples
        counts = np.bincount(classes - 1 - places if down else places)
        return {str(one): int(count) for one, count in enumerate(counts) if count}

    return labels


def drawn(shares: tuple[float, ...]) -> Labels:
    def labels(step: int) -> dict[str, int]:
        counts = np.random.default_rng(step).multinomial(BATCH, shares)
        return {str(one): int(count) for one, count in enumerate(counts) if count}

    return labels


@pytest.mark.parametrize("down", [False, True])
def test_samples_in_the_order_of_their_class_are_found_in_the_first_epoch(down: bool) -> None:
    [episode] = judged(training(in_order(10, 1797, down=down), steps=45)).episodes
    assert episode.first_step == 0
    assert "one class after the other" in episode.finding.message


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
    "each sample its own class": lambda _: {str(one): 1 for one in range(BATCH)},
    "two classes in each batch": lambda step: {str(step % 10): 16, str((step + 5) % 10): 16},
    "tiny batches": lambda step: {str(step // 10): 2},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_batches_are_left_alone(name: str) -> None:
    assert judged(training(HEALTHY[name])).episodes == ()


def test_enough_batches_are_needed() -> None:
    found = judged(training(in_order(10, 1797), steps=5))
    assert found.status is RuleStatus.NOT_ENOUGH_DATA
    assert found.reason == "it has looked at 4 batches; it needs 6"
