"""OutputIsProbability: planted faults and their healthy twins."""

from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (0, 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93)
CROSS, BINARY = "cross_entropy", "binary_cross_entropy_with_logits"


def check(job: FakeJob) -> Evaluation:
    return job.job().check("OutputIsProbability")["OutputIsProbability"]


def training(
    loss: str,
    share: Callable[[int], float],
    *,
    classes: int = 10,
    steps: int = 100,
    by: str = "",
) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        if step in INSPECTED_STEPS:
            detail = {"rows": 32, "classes": classes, "by": by}
            worker.observation("probabilities-as-logits", loss, step, detail, value=share(step))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_softmax_before_cross_entropy_is_reported_immediately() -> None:
    [episode] = check(training(CROSS, lambda _: 1.0, steps=5)).episodes
    assert (episode.first_step, episode.last_step) == (0, 3)
    assert (
        "cross_entropy expects logits but gets probabilities: 100% of the rows"
        in episode.finding.message
    )


def test_possible_sigmoid_before_a_loss_with_logits_is_reported_later() -> None:
    assert check(training(BINARY, lambda _: 1.0, classes=1, steps=50)).episodes == ()
    [episode] = check(training(BINARY, lambda _: 1.0, classes=1)).episodes
    assert "lie between 0 and 1" in episode.finding.message


def test_output_of_a_sigmoid_is_reported_immediately() -> None:
    job = training(BINARY, lambda _: 1.0, classes=1, steps=5, by="Sigmoid")
    assert check(job).episodes


def test_probabilities_without_a_logarithm_are_reported() -> None:
    [episode] = check(training("nll_loss", lambda _: 1.0)).episodes
    assert "expects log-probabilities" in episode.finding.message


HEALTHY = {
    "logits": (CROSS, lambda _: 0.0, 10),
    "a few rows by chance": (CROSS, lambda _: 0.1, 10),
    "one class only": (CROSS, lambda _: 1.0, 1),
    "small logits of a model that then learns": (BINARY, lambda step: float(step < 15), 1),
    "a last layer that starts at zero": (BINARY, lambda step: float(step < 1), 1),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_logits_are_not_reported(name: str) -> None:
    loss, share, classes = HEALTHY[name]
    assert check(training(loss, share, classes=classes)).episodes == ()


def test_few_inspections_are_not_enough_data() -> None:
    result = check(training(BINARY, lambda _: 1.0, classes=1, steps=10))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 6 of 10 inspections"
