"""ThreadOversubscription: jobs with more threads than cores, and busy jobs that are healthy."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

CORES = 4


def evaluate(threads: float, wait: float, job: float = 4.0, machine: float = 100.0) -> Evaluation:
    """A minute of training on a machine of 4 cores; the job uses `job` of them."""
    samples = 120
    curves = {
        "process_tree.cpu_wait_percent": [wait] * samples,
        "process_tree.cpu_percent": [100 * job] * samples,
        "cpu.running_threads": [threads] * samples,
        "cpu.utilization_percent": [machine] * samples,
        **{f"cpu.utilization_percent/cpu{core}": [machine] * samples for core in range(CORES)},
    }
    fake = FakeJob()
    fake.worker()
    return fake.record(curves).end().job().check("ThreadOversubscription")["ThreadOversubscription"]


def test_threads_of_the_job_that_wait_for_each_other_are_reported() -> None:
    [episode] = evaluate(threads=16, wait=50).episodes
    assert episode.finding.message == (
        "16 threads of the job compete for 4 cores of node-a; they spend 50% of their runnable "
        "time waiting."
    )
    assert episode.finding.improvement is not None
    [remedy] = episode.finding.improvement.remedies
    assert remedy.title == "4 threads per training process"


@pytest.mark.parametrize(
    "load",
    [
        {"threads": 4.0, "wait": 5.0},  # as many threads as cores
        {"threads": 16.0, "wait": 50.0, "job": 2.0},  # others use half of the machine
        {"threads": 16.0, "wait": 50.0, "job": 1.0, "machine": 30.0},  # waits for something else
    ],
)
def test_full_cores_and_other_processes_are_no_oversubscription(load: dict[str, float]) -> None:
    result = evaluate(**load)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
