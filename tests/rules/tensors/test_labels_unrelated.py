"""LabelsUnrelated: planted faults and their healthy twins."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

Level = Callable[[int], float]


@dataclass(frozen=True)
class Curves:
    """Losses, accuracies and number of batches of a job."""

    train: Level
    validation: Level
    accuracy: Level | None = None
    validation_accuracy: Level | None = None
    batches: int = 1000


def check(job: FakeJob) -> Evaluation:
    return job.job().check("LabelsUnrelated")["LabelsUnrelated"]


def training(curves: Curves, steps: int = 600, first_step: int = 0) -> FakeJob:
    """Train on ten classes, with an evaluation of four batches after every 100 steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(first_step, first_step + steps):
        worker.observation("batch-hash", "input", step, value=step % curves.batches)
        worker.scalar("loss", step, curves.train(step))
        if curves.accuracy is not None and step % 20 == 0:
            worker.observation("class-hits", "predictions", step, _hits(curves.accuracy(step), 100))
        worker.step(step, {"forward": 0.1})
        for batch in range(4 if step % 100 == 99 else 0):
            number = step // 100 * 4 + batch
            worker.scalar("loss", number, curves.validation(step), mode="eval")
            if curves.validation_accuracy is not None:
                detail = _hits(curves.validation_accuracy(step), 100)
                worker.observation("class-hits", "predictions", number, detail, mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
    worker.flush()
    return job.end()


def _hits(share: float, samples: int) -> dict[str, list[float]]:
    each = samples / 10
    return {str(index): [each * share, each * (1 - share)] for index in range(10)}


def falls(step: int) -> float:
    return 2.3 * float(np.exp(-step / 150))


def rises(step: int) -> float:
    return 2.3 + step / 300


def overfits(step: int) -> float:
    return 1.4 + step / 200


def learned(step: int) -> float:
    return 1 - 0.9 * float(np.exp(-step / 100))


def test_validation_at_chance_is_reported_by_its_loss() -> None:
    [episode] = check(training(Curves(falls, rises))).episodes
    assert episode.is_open
    assert "never improved on its initial value" in episode.finding.message


def test_validation_at_chance_is_reported_by_its_accuracy() -> None:
    curves = Curves(falls, rises, learned, lambda _: 0.11)
    [episode] = check(training(curves, 400)).episodes
    assert episode.finding.evidence["chance"] == pytest.approx(0.1)
    assert episode.finding.evidence["validation_accuracy"] == pytest.approx(0.11)


def falls_late(step: int) -> float:
    return falls(max(0, step - 110))


def test_easier_validation_set_at_its_own_chance_level_is_reported() -> None:
    assert check(training(Curves(falls_late, lambda step: 1.9 + step / 300))).episodes


HEALTHY = {
    "an easier validation set that is learned": Curves(
        falls_late, lambda step: 1.9 if step < 100 else 1.0 + step / 300
    ),
    "learned before the first evaluation": Curves(falls, lambda step: 1.5 + step / 300),
    "both fall": Curves(falls, falls),
    "overfits after learning": Curves(falls, overfits),
    "nothing learned yet": Curves(lambda _: 2.3, lambda _: 2.31),
    "overfits, with accuracy": Curves(falls, rises, learned, lambda _: 0.4),
    "validation loss is a sum": Curves(falls, lambda step: 32 * falls(step)),
    "a test on two batches": Curves(falls, rises, learned, lambda _: 0.1, batches=2),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_training_is_not_reported(name: str) -> None:
    assert check(training(HEALTHY[name])).episodes == ()


def test_resumed_training_is_not_reported() -> None:
    assert check(training(Curves(falls, rises), first_step=5000)).episodes == ()


def test_single_evaluation_is_not_enough_data() -> None:
    result = check(training(Curves(falls, rises), 120))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 1 of 2 evaluations. Evaluate more often"
