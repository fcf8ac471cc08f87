"""FrequentEvaluation: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("FrequentEvaluation", **parameters)["FrequentEvaluation"]


def evaluated(every: int, seconds: float, steps: int = 300) -> FakeJob:
    """A job with steps of 20 ms and an evaluation every `every` steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        is_due = step % every == every - 1
        worker.step(step, {"forward": 0.02, "evaluation": seconds if is_due else 0.0})
    worker.flush()
    return job.end()


def test_evaluation_that_takes_half_of_the_time_is_found_with_a_rarer_schedule() -> None:
    [episode] = evaluate(evaluated(25, 0.5)).episodes
    finding = episode.finding
    assert finding.severity is Severity.INFO
    assert finding.message.startswith("Evaluation takes 50% of the training time of worker 0")
    assert finding.improvement is not None
    [remedy] = finding.improvement.remedies
    assert remedy.title == "evaluating every 475 steps instead of every 25"
    assert remedy.gain is not None
    assert remedy.gain.speedup == pytest.approx(1 / (0.5 + 0.5 / 19))


@pytest.mark.parametrize(("every", "seconds"), [(150, 5.0), (50, 0.1), (5, 0.001)])
def test_healthy_evaluations_are_not_reported(every: int, seconds: float) -> None:
    result = evaluate(evaluated(every, seconds))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_agent_that_acts_between_updates_is_not_evaluating() -> None:
    assert evaluate(evaluated(1, 0.05)).episodes == ()


def test_an_explicit_threshold_applies() -> None:
    assert evaluate(evaluated(50, 0.2), threshold=10).triggered
    assert not evaluate(evaluated(25, 0.5), threshold=60).triggered


def test_evaluations_in_steps_that_were_not_timed_are_recognized_by_their_length() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(200):
        phases = {"forward": 0.05, "evaluation": 0.2 if step % 5 == 4 else 0.0}
        if step % 10 == 4:
            worker.step(step, {}, rest=sum(phases.values()), timed=False)
        else:
            worker.step(step, phases)
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    evidence = episode.finding.evidence
    assert evidence["evaluations"] == 40
    assert evidence["lost_percent"] == pytest.approx(100 * 0.2 / 0.45, rel=0.02)


def test_steps_that_were_not_timed_are_no_evaluations_by_themselves() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(200):
        if step % 10 == 4:
            worker.step(step, {}, rest=0.3, timed=False)
        else:
            worker.step(step, {"forward": 0.05})
    worker.flush()
    assert evaluate(job.end()).episodes == ()
