"""StalledTrainingRule: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

CPU = "process_tree.cpu_percent"


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("StalledTrainingRule", **parameters)["StalledTrainingRule"]


def trained(*sections: tuple[int, float], cpu: float = 1.0) -> FakeJob:
    """A job with sections of 1-second steps and then minutes of silence at this CPU usage."""
    job = FakeJob()
    worker = job.worker()
    step = 0
    for steps, minutes in sections:
        for _ in range(steps):
            worker.step(step, {"forward": 1.0})
            step += 1
        job.record({CPU: [cpu] * round(6 * minutes)}, 10.0)
    worker.flush()
    return job.end()


def test_a_job_that_hangs_is_found_with_its_last_step() -> None:
    [episode] = evaluate(trained((60, 15))).episodes
    assert episode.is_open
    assert "for 14 min 50 s; the last one was train step 59." in (episode.finding.message)
    assert episode.severity is Severity.WARNING


def test_a_hang_with_busy_processes_is_found_later() -> None:
    assert not evaluate(trained((60, 25), cpu=100.0)).episodes
    assert evaluate(trained((60, 32), cpu=100.0)).episodes


def test_stop_training_on_fire_makes_the_finding_critical() -> None:
    [episode] = evaluate(trained((60, 15)), stop_training_on_fire=True).episodes
    assert episode.severity is Severity.CRITICAL


def test_a_job_that_continues_has_recovered() -> None:
    [episode] = evaluate(trained((60, 15), (60, 0))).episodes
    assert not episode.is_open


def test_an_explicit_threshold_applies() -> None:
    assert evaluate(trained((60, 5)), threshold=120).triggered
    assert not evaluate(trained((60, 15)), threshold=1200).triggered


@pytest.mark.parametrize("steps", range(20, 50, 7))
def test_a_pause_above_an_explicit_threshold_is_found_and_resolved(steps: int) -> None:
    [episode] = evaluate(trained((steps, 0.25), (60, 0)), threshold=4).episodes
    assert not episode.is_open
    text = f"for 21 s; the last one was train step {steps - 1}."
    assert text in episode.finding.message
    assert episode.finding.evidence["silent_seconds"] == pytest.approx(21)
    assert not evaluate(trained((steps, 0), (60, 0)), threshold=4).episodes


def test_the_start_is_not_a_pause_with_a_short_threshold() -> None:
    assert not evaluate(trained((0, 5), (60, 0)), threshold=4).episodes
    assert evaluate(trained((0, 12), (60, 0)), threshold=4).episodes


HEALTHY = {
    "steady": trained((300, 0)),
    "a checkpoint of eight minutes": trained((60, 8), (60, 0)),
    "regular long pauses": trained((60, 4), (60, 20), (60, 3)),
    "a long start": trained((0, 60), (60, 0)),
    "a few steps and then something else": trained((5, 60)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_jobs_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_evaluation_is_progress() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        worker.step(step, {"forward": 1.0})
    for step in range(40):
        worker.step(step, {"forward": 60.0}, mode="eval")
    worker.flush()
    assert not evaluate(job.end()).episodes


def test_a_job_without_steps_is_not_applicable() -> None:
    result = evaluate(FakeJob().record({CPU: [1.0] * 400}, 10.0).end())
    assert result.status is RuleStatus.NOT_APPLICABLE


def test_classic_setting_applies_the_documented_criterion() -> None:
    assert not evaluate(trained((1, 29)), setting="classic").triggered
    [episode] = evaluate(trained((1, 31)), setting="classic").episodes
    assert episode.finding.evidence["silent_seconds"] == pytest.approx(1829, abs=30)
    assert evaluate(trained((0, 32), (10, 0)), setting="classic").triggered
