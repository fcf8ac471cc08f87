"""CPUContention: jobs with the fault and similar healthy jobs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

Segment = tuple[
    float, float, float, float
]  # seconds; percent of waiting, of the job and of the machine


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("CPUContention", **parameters)["CPUContention"]


def shared(*sections: Segment, throttled: float = 0.0) -> FakeJob:
    """A job on two cores; its steps take 50 ms plus the time it waits for a core."""
    job = FakeJob()
    worker = job.worker()
    step = 0
    for seconds, wait, job_percent, machine in sections:
        for _ in range(round(2 * seconds)):
            for _ in range(round(10 * (1 - wait / 100))):
                worker.step(step, {"forward": 0.05 / (1 - wait / 100)})
                step += 1
            job.clock.advance(-0.5)
            job.record(
                {
                    "process_tree.cpu_wait_percent": [wait],
                    "process_tree.cpu_percent": [job_percent],
                    "cpu.utilization_percent": [machine],
                    "cpu.utilization_percent/cpu0": [machine],
                    "cpu.utilization_percent/cpu1": [machine],
                    "cgroup.throttled_percent": [throttled],
                }
            )
    worker.flush()
    return job.end()


def test_contention_that_begins_later_is_found_with_shares_and_slowdown() -> None:
    [episode] = evaluate(shared((20, 2, 100, 55), (90, 50, 60, 100))).episodes
    message = episode.finding.message
    assert "spends 50% of its runnable time waiting for a core" in message
    assert "other processes use 70% of the CPU of node-a, the job 30%." in message
    assert "Steps take 2.0 times as long as before." in message
    assert (episode.severity, episode.is_open) == (Severity.WARNING, True)


def test_contention_from_the_start_or_for_a_short_time_is_info() -> None:
    [episode] = evaluate(shared((90, 50, 60, 100))).episodes
    assert episode.severity is Severity.INFO
    [episode] = evaluate(shared((20, 2, 100, 55), (30, 50, 60, 100))).episodes
    assert episode.severity is Severity.INFO
    assert "Steps take 2.0 times as long as before." in episode.finding.message


def test_evidence_omits_the_slowdown_if_unknown() -> None:
    [episode] = evaluate(shared((90, 50, 60, 100))).episodes
    assert "times_usual_step" not in episode.finding.evidence
    [episode] = evaluate(shared((20, 2, 100, 55), (90, 50, 60, 100))).episodes
    assert episode.finding.evidence["times_usual_step"] == pytest.approx(2.0, rel=0.1)


def test_contention_that_ends_is_resolved() -> None:
    sections = ((20.0, 2.0, 100.0, 55.0), (30.0, 50.0, 60.0, 100.0))
    [episode] = evaluate(shared(*sections, sections[0])).episodes
    assert not episode.is_open


def test_throttling_by_the_container_quota_is_found() -> None:
    [episode] = evaluate(shared((30, 10, 50, 40), throttled=60)).episodes
    assert "CPU quota throttles the job on node-a in 60% of the scheduling periods" in (
        episode.finding.message
    )


HEALTHY = {
    "a dedicated machine": shared((30, 2, 100, 55)),
    "a job with more threads than cores": shared((30, 50, 195, 100)),
    "other processes and free cores": shared((30, 5, 100, 80)),
    "a full machine without waits": shared((30, 12, 98, 100)),
    "contention for 4 seconds": shared((20, 2, 100, 55), (4, 60, 60, 100), (20, 2, 100, 55)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_jobs_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_job_of_a_few_seconds_reports_missing_data() -> None:
    result = evaluate(shared((4, 50, 60, 100)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
