"""Rules that compare training with evaluations read one named series at a time."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.finding import RuleStatus
from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob

Level = Callable[[int], float]

STEPS, EVERY = 800, 20


def both_splits(train: Level, validation: Level, *, right: tuple[float, float]) -> FakeJob:
    """Evaluate both splits after every 20 steps; `right`: accuracy on each at the end."""
    job = FakeJob()
    worker = job.worker()
    rng = np.random.default_rng(0)
    for step in range(STEPS):
        worker.observation("batch-hash", "input", step, value=step % 100)
        worker.scalar("loss", step, train(step) * (1 + 0.1 * rng.standard_normal()))
        worker.step(step, {"forward": 0.1})
        if step % EVERY == EVERY - 1:
            done = step + 1
            progress = done / STEPS
            accuracies = [0.1 + (item - 0.1) * progress for item in right]
            evaluate(
                worker,
                "train (evaluated)",
                done,
                train(step),
                is_training_data=True,
                hits=_hits(accuracies[0]),
            )
            evaluate(worker, "validation", done, validation(step), hits=_hits(accuracies[1]))
    worker.flush()
    return job.end()


def _hits(accuracy: float) -> dict[str, tuple[int, int]]:
    right = round(20 * accuracy)
    return {str(label): (right, 20 - right) for label in range(10)}


def status(job: FakeJob, rule: str) -> RuleStatus:
    return job.job().check(rule)[rule].status


def falling(to: float) -> Level:
    return lambda step: to + (2.3 - to) * float(np.exp(-step / 100))


def test_overfitting_is_reported_although_the_training_set_is_evaluated_too() -> None:
    job = both_splits(falling(0.01), lambda step: falling(1.0)(step) + step / 400, right=(1.0, 0.6))
    evaluation = job.job().check("Overfit")["Overfit"]
    [episode] = evaluation.episodes
    assert 100 < float(str(episode.finding.evidence["best_step"])) < 350
    assert status(job, "LabelsUnrelated") is RuleStatus.NO_ISSUES_FOUND


def test_unrelated_labels_are_reported_with_both_splits_evaluated() -> None:
    job = both_splits(falling(0.01), lambda step: 2.3 + step / 400, right=(1.0, 0.1))
    [episode] = job.job().check("LabelsUnrelated")["LabelsUnrelated"].episodes
    assert "10% in validation" in episode.finding.message


@pytest.mark.parametrize(
    "rule", ["Overfit", "Overtraining", "LabelsUnrelated", "ValidationTooGood"]
)
def test_healthy_training_that_evaluates_both_splits_is_not_reported(rule: str) -> None:
    job = both_splits(falling(0.1), falling(0.3), right=(0.95, 0.9))
    assert status(job, rule) is not RuleStatus.ISSUES_FOUND


def leaking(shares: dict[str, float]) -> FakeJob:
    """A job with series of evaluations, and the share of reused samples in each."""
    job = FakeJob()
    worker = job.worker()
    for step in range(400):
        worker.scalar("loss", step, 1.0)
        worker.step(step, {"forward": 0.1})
        for name, share in shares.items() if step % 40 == 39 else ():
            worker.scalar("loss", step, 1.0, mode="eval")
            facts = {
                "samples": 200,
                "known": round(200 * share),
                "repeated": 0,
                "pairs": 1900,
                "mixed": 0,
                "trained": 800,
                "rows": 800,
                "again": 800 if step > 40 else 0,
                "is_training_data": name.startswith("train"),
            }
            worker.observation("samples-again", name, step, facts)
    worker.flush()
    return job.end()


@pytest.mark.parametrize(
    ("shares", "is_reported"),
    [
        ({"train (evaluated)": 1.0, "validation": 0.0}, False),
        ({"train (evaluated)": 1.0, "validation": 1.0}, True),
        ({"train (evaluated)": 1.0}, True),
        ({"validation": 1.0}, True),
        ({"validation": 0.0}, False),
    ],
)
def test_reused_samples_are_reported_in_the_validation_set_only(
    shares: dict[str, float], is_reported: bool
) -> None:
    result = status(leaking(shares), "ValidationTooGood") is RuleStatus.ISSUES_FOUND
    assert result == is_reported


def test_evaluations_after_every_step_are_compared_with_the_training_before_them() -> None:
    """Boosted trees learn much within one window, and are evaluated in every round."""
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        loss = 0.3 + 0.6 * float(np.exp(-step / 10))
        worker.scalar("loss", step, loss)
        worker.step(step, {"tree_growth": 0.1})
        evaluate(worker, "validation", step + 1, loss + 0.04)
    worker.flush()
    assert job.end().job().check("LabelsUnrelated")["LabelsUnrelated"].episodes == ()
