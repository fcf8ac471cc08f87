"""MissingZeroGrad: planted faults and their healthy twins."""

from collections.abc import Callable

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (1, 2, 3, 5, 8, 12, 18, 27, 41)

StaleGradients = Callable[[int, int], int]  # optimizer and step to number of parameters


def check(job: FakeJob) -> Evaluation:
    return job.job().check("MissingZeroGrad")["MissingZeroGrad"]


def training(stale: StaleGradients, *, optimizers: int = 1, steps: int = 60) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        for number in range(optimizers) if step in INSPECTED_STEPS else ():
            count = stale(number, step)
            detail = {"of": 6, "first": "fc1.weight" if count else ""}
            worker.observation("kept-gradients", str(number), step, detail, value=count)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_gradients_never_cleared_are_reported_from_the_first_step() -> None:
    [episode] = check(training(lambda *_: 6, steps=8)).episodes
    assert episode.first_step == 1
    assert "6 of 6 parameters still have theirs, including fc1.weight" in episode.finding.message


def test_parameters_never_cleared_are_reported() -> None:
    [episode] = check(training(lambda *_: 2)).episodes
    assert episode.finding.evidence["parameters"] == 2


def test_cleared_gradients_are_not_reported() -> None:
    result = check(training(lambda *_: 0))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_gradients_kept_for_single_steps_are_not_reported() -> None:
    assert check(training(lambda _, step: 6 * (step in (1, 5, 12)))).episodes == ()


def test_affected_optimizer_is_named() -> None:
    [episode] = check(training(lambda number, _: 6 * (number == 1), optimizers=2)).episodes
    assert "steps of optimizer 1" in episode.finding.message


def test_finding_is_resolved_when_gradients_are_cleared_again() -> None:
    [episode] = check(training(lambda _, step: 6 * (step < 12))).episodes
    assert not episode.is_open
