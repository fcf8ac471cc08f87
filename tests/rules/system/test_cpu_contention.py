"""CPUContention: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

Segment = tuple[float, float, float, float]  # seconds, waiting, the job and the machine in percent


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("CPUContention", **parameters)["CPUContention"]


def shared(*sections: Segment, throttled: float = 0.0) -> FakeJob:
    """A machine of two cores; the longer a job waits, the longer its steps of 50 ms take."""
    job = FakeJob()
    worker = job.worker()
    step = 0
    for seconds, wait, state_of_subject, machine in sections:
        for _ in range(round(2 * seconds)):
            for _ in range(round(10 * (1 - wait / 100))):
                worker.step(step, {"forward": 0.05 / (1 - wait / 100)})
                step += 1
            job.clock.advance(-0.5)
            job.record(
                {
                    "process_tree.cpu_wait_percent": [wait],
                    "process_tree.cpu_percent": [state_of_subject],
                    "cpu.utilization_percent": [machine],
                    "cpu.utilization_percent/cpu0": [machine],
                    "cpu.utilization_percent/cpu1": [machine],
                    "cgroup.throttled_percent": [throttled],
                }
            )
    worker.flush()
    return job.end()


def test_neighbors_that_come_later_are_found_with_shares_and_consequence() -> None:
    [episode] = judged(shared((20, 2, 100, 55), (90, 50, 60, 100))).episodes
    message = episode.finding.message
    assert "spends 50% of its runnable time waiting for a core" in message
    assert "other processes use 70% of the CPU of node-a, the job 30%." in message
    assert "Steps take 2.0 times as long as before." in message
    assert (episode.severity, episode.is_open) == (Severity.WARNING, True)


def test_neighbors_from_the_start_or_for_a_short_time_are_advice() -> None:
    [episode] = judged(shared((90, 50, 60, 100))).episodes
    assert episode.severity is Severity.INFO
    [episode] = judged(shared((20, 2, 100, 55), (30, 50, 60, 100))).episodes
    assert episode.severity is Severity.INFO
    assert "Steps take 2.0 times as long as before." in episode.finding.message


def test_evidence_leaves_out_the_usual_step_where_it_is_unknown() -> None:
    [episode] = judged(shared((90, 50, 60, 100))).episodes
    assert "times_usual_step" not in episode.finding.evidence
    [episode] = judged(shared((20, 2, 100, 55), (90, 50, 60, 100))).episodes
    assert episode.finding.evidence["times_usual_step"] == pytest.approx(2.0, rel=0.1)


def test_neighbors_that_leave_are_over() -> None:
    sections = ((20.0, 2.0, 100.0, 55.0), (30.0, 50.0, 60.0, 100.0))
    [episode] = judged(shared(*sections, sections[0])).episodes
    assert not episode.is_open


def test_a_quota_of_the_container_is_found() -> None:
    [episode] = judged(shared((30, 10, 50, 40), throttled=60)).episodes
    assert "CPU quota throttles the job on node-a in 60% of the scheduling periods" in (
        episode.finding.message
    )


HEALTHY = {
    "a machine of its own": shared((30, 2, 100, 55)),
    "a job with more threads than cores": shared((30, 50, 195, 100)),
    "neighbors beside free cores": shared((30, 5, 100, 80)),
    "a full machine that gives it what it wants": shared((30, 12, 98, 100)),
    "a short moment": shared((20, 2, 100, 55), (4, 60, 60, 100), (20, 2, 100, 55)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_jobs_are_left_alone(name: str) -> None:
    result = judged(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_job_of_a_few_seconds_is_told_what_is_missing() -> None:
    result = judged(shared((4, 50, 60, 100)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
