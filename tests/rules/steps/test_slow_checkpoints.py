"""SlowCheckpoints: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("SlowCheckpoints", **parameters)["SlowCheckpoints"]


def saved(every: int, seconds: float, steps: int = 300) -> FakeJob:
    """Steps of 20 ms, with a checkpoint every so many steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        is_saved = step % every == every - 1
        worker.step(step, {"checkpoint": seconds if is_saved else 0.0, "forward": 0.02})
    worker.flush()
    return job.end()


def test_checkpoints_that_take_a_third_of_the_time_are_found_with_their_share() -> None:
    [episode] = judged(saved(5, 0.05)).episodes
    message = episode.finding.message
    assert message.startswith("Saving checkpoints takes 33% of the training time of worker 0:")
    assert episode.finding.evidence["seconds_per_checkpoint"] == pytest.approx(0.05)
    assert (episode.is_open, episode.first_step) == (True, 4)


def test_checkpoints_that_become_rare_are_over() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3000):
        is_saved = step % 5 == 4 and step < 300
        worker.step(step, {"checkpoint": 0.05 if is_saved else 0.0, "forward": 0.02})
    worker.flush()
    [episode] = judged(job.end()).episodes
    assert not episode.is_open


@pytest.mark.parametrize(("every", "seconds"), [(150, 2.0), (50, 0.1), (5, 0.01), (1000, 1.0)])
def test_healthy_checkpoints_are_left_alone(every: int, seconds: float) -> None:
    result = judged(saved(every, seconds))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_given_threshold_holds() -> None:
    assert judged(saved(50, 0.2), threshold=10).triggered
    assert not judged(saved(5, 0.05), threshold=40).triggered
