"""SharedGPU: other processes on the GPU of a job, and on other GPUs."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob

GB = float(1 << 30)


def evaluate(others: float, job_memory: float = 10 * GB, samples: int = 40) -> Evaluation:
    """A job with samples of its processes every 5 seconds."""
    curves = {
        "gpu.others_utilization_percent/gpu0": [others] * samples,
        "gpu.others_memory_bytes/gpu0": [2 * GB] * samples,
        "gpu.job_memory_bytes/gpu0": [job_memory] * samples,
    }
    job = FakeJob()
    job.worker(device="cuda:0")
    return job.record(curves, every_seconds=5.0).end().job().check("SharedGPU")["SharedGPU"]


def test_a_process_that_computes_on_the_gpu_of_the_job_is_reported() -> None:
    [episode] = evaluate(40.0).episodes
    message = (
        "Other processes use 40% of the compute units of gpu0 on node-a and 2.15 GB of its memory."
    )
    assert episode.finding.message == message


@pytest.mark.parametrize(("others", "job_memory"), [(2.0, 10 * GB), (90.0, 0.0)])
def test_idle_processes_and_gpus_of_other_jobs_are_healthy(
    others: float, job_memory: float
) -> None:
    result = evaluate(others, job_memory)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_half_a_minute_of_samples_is_needed() -> None:
    assert evaluate(40.0, samples=3).status is RuleStatus.NOT_ENOUGH_DATA
