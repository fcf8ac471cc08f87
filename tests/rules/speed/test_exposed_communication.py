"""ExposedCommunication: jobs with the fault and similar healthy jobs."""

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.profiled import GPU, ProfiledStep, h200_step_job

MATRIX = "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("ExposedCommunication")["ExposedCommunication"]


def exchanging(*, is_overlapped: bool) -> FakeJob:
    """A step of 20 ms of products and 10 ms of collectives, after or beside them."""
    step = ProfiledStep()
    for _ in range(20):
        step.launch("aten::mm", MATRIX, 1e-5, 1e-3)
    start = step.device - 0.012 if is_overlapped else step.device
    place = {"lane": "stream 20", "device": GPU}
    step.add(REDUCE, "kernel", start, 0.01, **place)
    step.device = max(step.device, start + 0.01)
    return step.job(step.device)


def test_collectives_that_run_alone_are_found_with_the_time_they_cost() -> None:
    [episode] = evaluate(exchanging(is_overlapped=False)).episodes
    finding = episode.finding
    assert finding.message.startswith("Worker 0 waits for collectives for 33% of each step")
    assert finding.improvement is not None
    titles = [remedy.title for remedy in finding.improvement.remedies]
    assert titles == ["gradient accumulation", "more overlap"]
    assert 1 < finding.improvement.speedup < 1.5


def test_collectives_beside_kernels_are_healthy() -> None:
    result = evaluate(exchanging(is_overlapped=True))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_single_gpu_has_nothing_to_exchange() -> None:
    assert evaluate(h200_step_job(0.051)).episodes == ()
