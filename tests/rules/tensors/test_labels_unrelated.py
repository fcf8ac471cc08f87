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
    """Losses, accuracies and batches of a training over its steps."""

    train: Level
    validation: Level
    right: Level | None = None  # in training
    right_in_validation: Level | None = None
    batches: int = 1000


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("LabelsUnrelated")["LabelsUnrelated"]


def training(curves: Curves, steps: int = 600, first_step: int = 0) -> FakeJob:
    """An evaluation of four batches after every hundred steps, with ten classes."""
    job = FakeJob()
    worker = job.worker()
    for step in range(first_step, first_step + steps):
        worker.observation("batch-hash", "input", step, value=step % curves.batches)
        worker.scalar("loss", step, curves.train(step))
        if curves.right is not None and step % 20 == 0:
            worker.observation("class-hits", "predictions", step, _hits(curves.right(step), 100))
        worker.step(step, {"forward": 0.1})
        for batch in range(4 if step % 100 == 99 else 0):
            number = step // 100 * 4 + batch
            worker.scalar("loss", number, curves.validation(step), mode="eval")
            if curves.right_in_validation is not None:
                detail = _hits(curves.right_in_validation(step), 100)
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


def test_a_validation_that_never_leaves_chance_is_found_by_its_loss() -> None:
    [episode] = judged(training(Curves(falls, rises))).episodes
    assert episode.is_open
    assert "never improved on its initial value" in episode.finding.message


def test_a_validation_that_never_leaves_chance_is_found_by_its_hits() -> None:
    curves = Curves(falls, rises, learned, lambda _: 0.11)
    [episode] = judged(training(curves, 400)).episodes
    assert episode.finding.evidence["chance"] == pytest.approx(0.1)
    assert episode.finding.evidence["validation_accuracy"] == pytest.approx(0.11)


def falls_late(step: int) -> float:
    return falls(max(0, step - 110))


def test_a_validation_set_that_is_easier_to_guess_may_stay_at_its_own_chance() -> None:
    assert judged(training(Curves(falls_late, lambda step: 1.9 + step / 300))).episodes


HEALTHY = {
    "an easier validation set that is learned": Curves(
        falls_late, lambda step: 1.9 if step < 100 else 1.0 + step / 300
    ),
    "has learned before the first evaluation": Curves(falls, lambda step: 1.5 + step / 300),
    "both fall": Curves(falls, falls),
    "overfits after having learned": Curves(falls, overfits),
    "has learned nothing yet": Curves(lambda _: 2.3, lambda _: 2.31),
    "overfits, with hits": Curves(falls, rises, learned, lambda _: 0.4),
    "sums up its validation loss": Curves(falls, lambda step: 32 * falls(step)),
    "a test on two batches": Curves(falls, rises, learned, lambda _: 0.1, batches=2),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_trainings_are_left_alone(name: str) -> None:
    assert judged(training(HEALTHY[name])).episodes == ()


def test_a_training_that_goes_on_from_elsewhere_is_left_alone() -> None:
    assert judged(training(Curves(falls, rises), first_step=5000)).episodes == ()


def test_evaluations_are_needed() -> None:
    result = judged(training(Curves(falls, rises), 120))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 1 of 2 evaluations"
