"""ValidationTooGood: planted faults and their healthy twins."""

from collections.abc import Callable, Sequence

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

Marks = Callable[[int], Sequence[int]]  # of the batches of an evaluation after a step


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("ValidationTooGood")["ValidationTooGood"]


def training(
    marks: Marks,
    *,
    epoch: int = 40,
    wrong: tuple[float, float] | None = None,
    losses: tuple[float, float] = (1.0, 1.0),
    every: int = 40,
) -> FakeJob:
    """Epochs of so many batches in the same order; errors in training and validation."""
    job = FakeJob()
    worker = job.worker()
    number = 0
    for step in range(240):
        worker.observation("batch-hash", "input", step, value=step % epoch)
        worker.scalar("loss", step, losses[0])
        if wrong is not None and step % 20 == 0:
            worker.observation("class-hits", "predictions", step, _hits(wrong[0]))
        worker.step(step, {"forward": 0.1})
        for mark in marks(step) if step % every == every - 1 else ():
            worker.observation("batch-hash", "input", number, mode="eval", value=mark)
            worker.scalar("loss", number, losses[1], mode="eval")
            if wrong is not None:
                detail = _hits(wrong[1])
                worker.observation("class-hits", "predictions", number, detail, mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
            number += 1
    worker.flush()
    return job.end()


def _hits(wrong: float) -> dict[str, list[float]]:
    return {str(one): [50 * (1 - wrong), 50 * wrong] for one in range(4)}


def of_its_own(_step: int) -> Sequence[int]:
    return range(1000, 1010)


def test_a_validation_on_what_was_trained_is_found_after_the_first_epoch() -> None:
    [episode] = judged(training(lambda _: range(10))).episodes
    assert episode.finding.evidence["batches"] == 10
    assert "10 of 10 different batches" in episode.finding.message


def test_a_validation_that_is_far_better_from_the_first_is_found() -> None:
    found = judged(training(of_its_own, wrong=(0.5, 0.01), losses=(1.0, 0.05)))
    [episode] = found.episodes
    assert "50 % of those in training" in episode.finding.message


HEALTHY = {
    "its own batches": (of_its_own, 40, 40),
    "the training set and a validation set": (lambda _: [*range(10), *range(1000, 1010)], 40, 40),
    "the same batch again": (lambda step: [step % 40], 40, 5),
    "a test on two batches": (lambda _: range(2), 2, 40),
    "an evaluation before the training of it": (lambda s: range(s + 9, s + 15), 1000, 40),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_evaluations_are_left_alone(name: str) -> None:
    marks, epoch, every = HEALTHY[name]
    found = judged(training(marks, epoch=epoch, every=every))
    assert found.episodes == ()


@pytest.mark.parametrize(
    ("wrong", "losses"),
    [
        ((0.5, 0.2), (1.5, 0.6)),  # dropout and augmentation
        ((0.05, 0.01), (0.2, 0.04)),  # nearly all is right
        ((0.5, 0.01), (1.0, 0.8)),  # the loss says otherwise
        ((0.1, 0.3), (0.3, 0.9)),
    ],
)
def test_a_validation_that_is_a_little_better_is_left_alone(
    wrong: tuple[float, float], losses: tuple[float, float]
) -> None:
    found = judged(training(of_its_own, wrong=wrong, losses=losses))
    assert (found.status, found.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
