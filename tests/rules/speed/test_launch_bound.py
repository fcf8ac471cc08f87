"""LaunchBound: jobs whose host is too slow for the GPU, and similar healthy jobs."""

import pytest

from sonde.records.advice import Basis, Bottleneck
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.profiled import ProfiledStep, h200_step_job, launches

POINTWISE = "void at::native::vectorized_elementwise_kernel<4, add>"
MATRIX = "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("LaunchBound")["LaunchBound"]


def test_a_recorded_step_of_an_h200_in_a_slow_loop_is_launch_bound() -> None:
    [episode] = evaluate(h200_step_job(0.25)).episodes
    finding = episode.finding
    assert finding.message.startswith(
        "GPU 0 is idle 80% of each step because the host launches 953 kernels in 250 ms"
    )
    assert finding.improvement is not None
    assert finding.improvement.bottleneck is Bottleneck.HOST
    for remedy in finding.improvement.remedies:
        assert remedy.gain is not None
        assert remedy.gain.basis is Basis.MODELED
        assert 1 < remedy.gain.low <= remedy.gain.speedup <= remedy.gain.high
    # without any idle time, the kernels alone would be this much faster
    bound = 0.25 / (0.25 - finding.evidence["seconds_per_step_to_win"])  # type: ignore[operator]
    assert finding.improvement.speedup <= bound + 1e-9


def test_the_same_step_in_a_loop_that_keeps_the_gpu_busy_is_healthy() -> None:
    result = evaluate(h200_step_job(0.051))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert result.summary["busy_percent"] == pytest.approx(96, abs=2)


def test_fusion_is_counted_by_runs_of_pointwise_kernels() -> None:
    kernels = [MATRIX, *[POINTWISE] * 3] * 30
    [episode] = evaluate(launches(kernels, 2e-5, 2e-6).job(120 * 2e-5)).episodes
    assert episode.finding.evidence["launches"] == 120
    assert episode.finding.evidence["launches_after_fusion"] == 60


def test_a_compiled_model_is_advised_to_use_cuda_graphs_only() -> None:
    step = launches(["triton_poi_fused_add_0"] * 100, 2e-5, 2e-6)
    [episode] = evaluate(step.job(100 * 2e-5)).episodes
    assert episode.finding.improvement is not None
    titles = [remedy.title for remedy in episode.finding.improvement.remedies]
    assert "torch.compile" not in titles
    assert "torch.compile with CUDA graphs" in titles


def test_a_step_that_waits_for_synchronizations_is_another_problem() -> None:
    step = ProfiledStep()
    for _ in range(60):
        step.launch("aten::mm", MATRIX, 1e-5, 1e-4)
        step.wait()
    assert evaluate(step.job(step.host)).episodes == ()


def test_waiting_for_data_is_another_problem() -> None:
    step = launches([MATRIX] * 100, 2e-5, 1.9e-5)
    phases = {"data_wait": 0.02, "forward": 100 * 2e-5}
    assert evaluate(step.job(0.0, phases=phases)).episodes == ()


def test_a_batch_grows_only_as_far_as_memory_allows() -> None:
    job = launches([POINTWISE] * 100, 2e-5, 1e-6).job(100 * 2e-5)
    [episode] = evaluate(job).episodes
    assert episode.finding.improvement is not None
    titles = [remedy.title for remedy in episode.finding.improvement.remedies]
    assert "a batch 16 times as large" in titles


def test_a_job_without_a_gpu_is_not_applicable_and_one_without_a_profile_says_so() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert evaluate(job.end()).status is RuleStatus.NOT_APPLICABLE
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    for step in range(60):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = evaluate(job.end())
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "no GPU operations were profiled",
    )
