"""SlowCheckpoints: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("SlowCheckpoints", **parameters)["SlowCheckpoints"]


def saved(every: int, seconds: float, steps: int = 300) -> FakeJob:
    """A job with steps of 20 ms and a checkpoint every `every` steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        is_saved = step % every == every - 1
        worker.step(step, {"checkpoint": seconds if is_saved else 0.0, "forward": 0.02})
    worker.flush()
    return job.end()


def test_checkpoints_that_take_a_third_of_the_time_are_found_with_their_share() -> None:
    [episode] = evaluate(saved(5, 0.05)).episodes
    message = episode.finding.message
    assert message.startswith("Saving checkpoints takes 33% of the training time of worker 0:")
    assert episode.finding.evidence["seconds_per_checkpoint"] == pytest.approx(0.05)
    assert (episode.is_open, episode.first_step) == (True, 4)


def test_rarer_checkpoints_resolve_the_finding() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3000):
        is_saved = step % 5 == 4 and step < 300
        worker.step(step, {"checkpoint": 0.05 if is_saved else 0.0, "forward": 0.02})
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    assert not episode.is_open


@pytest.mark.parametrize(("every", "seconds"), [(150, 2.0), (50, 0.1), (5, 0.01), (1000, 1.0)])
def test_healthy_checkpoints_are_not_reported(every: int, seconds: float) -> None:
    result = evaluate(saved(every, seconds))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_explicit_threshold_applies() -> None:
    assert evaluate(saved(50, 0.2), threshold=10).triggered
    assert not evaluate(saved(5, 0.05), threshold=40).triggered


def test_profiled_steps_do_not_hide_the_share_of_saves() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(200):
        is_saved = step % 5 == 4
        phases = {"checkpoint": 0.05 if is_saved else 0.0, "forward": 0.02}
        if 10 <= step < 40:
            worker.step(step, {"forward": 1.0}, profiled="python")
        else:
            worker.step(step, phases)
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    assert episode.finding.evidence["lost_percent"] == pytest.approx(100 / 3)
    assert episode.finding.improvement is not None
    assert 1.4 < episode.finding.improvement.speedup < 1.5
