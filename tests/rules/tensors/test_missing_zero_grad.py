"""MissingZeroGrad: planted faults and their healthy twins."""

from collections.abc import Callable

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (1, 2, 3, 5, 8, 12, 18, 27, 41)

StaleGradients = Callable[[int, int], int]  # of an optimizer at a step


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("MissingZeroGrad")["MissingZeroGrad"]


def training(stored: StaleGradients, *, optimizers: int = 1, steps: int = 60) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        for number in range(optimizers) if step in INSPECTED_STEPS else ():
            count = stored(number, step)
            detail = {"of": 6, "first": "fc1.weight" if count else ""}
            worker.observation("kept-gradients", str(number), step, detail, value=count)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_gradients_that_are_never_cleared_are_found_from_the_first_step_on() -> None:
    [episode] = judged(training(lambda *_: 6, steps=8)).episodes
    assert episode.first_step == 1
    assert "6 of 6 parameters still have theirs, including fc1.weight" in episode.finding.message


def test_a_part_of_the_model_that_is_never_cleared_is_found() -> None:
    [episode] = judged(training(lambda *_: 2)).episodes
    assert episode.finding.evidence["parameters"] == 2


def test_cleared_gradients_are_left_alone() -> None:
    result = judged(training(lambda *_: 0))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_gradients_that_are_kept_once_are_left_alone() -> None:
    assert judged(training(lambda _, step: 6 * (step in (1, 5, 12)))).episodes == ()


def test_of_several_optimizers_the_one_is_named() -> None:
    [episode] = judged(training(lambda number, _: 6 * (number == 1), optimizers=2)).episodes
    assert "steps of optimizer 1" in episode.finding.message


def test_it_recovers_when_gradients_are_cleared_again() -> None:
    [episode] = judged(training(lambda _, step: 6 * (step < 12))).episodes
    assert not episode.is_open
