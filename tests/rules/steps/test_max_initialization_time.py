"""MaxInitializationTime: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.engine.runner import Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.finding import Evaluation, RuleStatus
from sonde.rules.steps.max_initialization_time import MaxInitializationTime
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("MaxInitializationTime", **parameters)["MaxInitializationTime"]


def starting(minutes: float, steps: int = 10, mode: str = "train") -> FakeJob:
    """A job with these steps after some minutes of initialization."""
    job = FakeJob()
    worker = job.worker()
    job.record({"cpu.utilization_percent": [5.0] * round(6 * minutes)}, 10.0)
    for step in range(steps):
        worker.step(step, {"forward": 1.0}, mode=mode)
    worker.flush()
    return job


@pytest.mark.parametrize("setting", ["calibrated", "classic"])
def test_a_late_first_step_is_found(setting: str) -> None:
    [episode] = evaluate(starting(25).end(), setting=setting).episodes
    assert not episode.is_open
    assert episode.finding.message == "The first training step began 25 min after the start."
    assert episode.finding.evidence["initialization_minutes"] == pytest.approx(25.0)


@pytest.mark.parametrize("setting", ["calibrated", "classic"])
def test_the_threshold_is_exact(setting: str) -> None:
    result = evaluate(starting(20).end(), setting=setting)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert evaluate(starting(20).end(), setting=setting, threshold=19.9).triggered


def test_a_missing_first_step_is_found_while_the_job_runs() -> None:
    job = starting(30, steps=0)
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [MaxInitializationTime()])
    runner.advance()
    [rule] = runner.evaluations
    [episode] = rule.episodes
    assert episode.is_open
    assert "had not begun 29 min 30 s after the start" in episode.finding.message
    assert not evaluate(job, setting="classic").episodes


def test_each_attempt_is_checked_separately() -> None:
    job = starting(1)
    job.clock.advance(60)
    worker = job.worker(restart=1)
    job.record({"cpu.utilization_percent": [5.0] * 150}, 10.0)
    worker.step(10, {"forward": 1.0}).flush()
    [episode] = evaluate(job.end()).episodes
    assert episode.finding.evidence["initialization_minutes"] == pytest.approx(25.0)


HEALTHY = {
    "a job that evaluates": starting(1, 2000, "eval").end(),
    "a command that does not train": FakeJob()
    .record({"cpu.utilization_percent": [5.0] * 200}, 10.0)
    .end(),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_jobs_without_training_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())
