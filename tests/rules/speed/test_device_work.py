"""Rules about the work on the device: jobs with each fault, and similar healthy jobs."""

import pytest

from sonde.records.advice import Basis
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.profiled import ProfiledStep, h200_step_job, launches

HALF = "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
FLOAT = "ampere_sgemm_128x64_tn"
TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x8"
UNALIGNED = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align1"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, add>"
PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"


def evaluate(rule: str, job: FakeJob) -> Evaluation:
    return job.job().check(rule)[rule]


def busy(*kernels: str) -> FakeJob:
    """A step of 20 of each kernel that keeps the device busy."""
    step = launches(kernels * 20, 1e-5, 1e-3, "aten::mm")
    return step.job(step.device)


def copying(kind: str) -> FakeJob:
    step = ProfiledStep().launch("aten::_to_copy", kind, 5e-3, 5e-3, "copy")
    for _ in range(20):
        step.launch("aten::mm", HALF, 1e-5, 1e-3)
    return step.job(step.device)


def attending(is_fused: bool) -> FakeJob:
    step = ProfiledStep()
    names = ["aten::bmm", "aten::_softmax", "aten::bmm"]
    for _ in range(10):
        if is_fused:
            operator = "aten::_scaled_dot_product_flash_attention"
            step.launch(operator, "flash_fwd_kernel", 1e-5, 1e-3)
        else:
            for name in names:
                step.launch(name, HALF if name == "aten::bmm" else "softmax_warp", 1e-5, 1e-3)
        step.launch("aten::addmm", HALF, 1e-5, 1e-3)
    return step.job(step.device)


@pytest.mark.parametrize(
    ("rule", "job", "share", "titles"),
    [
        ("UnusedTensorCores", busy(FLOAT, POINTWISE), 0.5, {"TF32", "bfloat16"}),
        ("UnusedTensorCores", busy(TF32, POINTWISE), 0.5, {"bfloat16"}),
        ("OddDimensions", busy(UNALIGNED, HALF), 0.5, {"dimensions in multiples of 8"}),
        ("EagerAttention", attending(is_fused=False), 0.75, {"scaled_dot_product_attention"}),
        ("PageableCopies", copying(PAGEABLE), 0.17, {"pinned memory"}),
    ],
)
def test_the_fault_is_found_with_a_range_of_gains(
    rule: str, job: FakeJob, share: float, titles: set[str]
) -> None:
    [episode] = evaluate(rule, job).episodes
    improvement = episode.finding.improvement
    assert improvement is not None
    assert {remedy.title for remedy in improvement.remedies} == titles
    assert improvement.places[0].startswith("aten::")
    for remedy in improvement.remedies:
        gain = remedy.gain
        assert gain is not None
        assert gain.basis in (Basis.TYPICAL, Basis.MODELED)
        # even infinitely fast work leaves the rest of the step
        assert 1 <= gain.low < gain.speedup < gain.high <= 1 / (1 - share) + 0.01


def test_a_faster_precision_is_predicted_from_flops_and_the_rate_of_the_gpu() -> None:
    step = launches([FLOAT] * 20, 1e-5, 1e-3, "aten::mm")
    # products of 50 GFLOP in 1 ms each; at 60% of the rates of an H200: 0.17 and 0.084 ms
    shapes = {"shapes": [[2500, 1000], [1000, 10_000]]}
    for name, _, _, _, more in step.operations:
        if name == "aten::mm":
            more["detail"] = shapes
    job = step.job(step.device, device_name="NVIDIA H200")
    [episode] = evaluate("UnusedTensorCores", job).episodes
    assert episode.finding.improvement is not None
    gains = {
        remedy.title: remedy.gain.speedup
        for remedy in episode.finding.improvement.remedies
        if remedy.gain
    }
    assert gains["TF32"] == pytest.approx(1e-3 * 0.6 * 494e12 / 50e9, rel=0.02)
    assert gains["bfloat16"] == pytest.approx(1e-3 * 0.6 * 989e12 / 50e9, rel=0.02)


@pytest.mark.parametrize(
    ("rule", "job"),
    [
        ("UnusedTensorCores", busy(HALF, POINTWISE)),
        ("OddDimensions", busy(HALF, POINTWISE)),
        ("EagerAttention", attending(is_fused=True)),
        ("PageableCopies", copying(PINNED)),
        ("UnusedTensorCores", h200_step_job(0.051)),
        ("OddDimensions", h200_step_job(0.051)),
        ("EagerAttention", h200_step_job(0.051)),
        ("PageableCopies", h200_step_job(0.051)),
    ],
)
def test_the_healthy_twin_has_no_finding(rule: str, job: FakeJob) -> None:
    result = evaluate(rule, job)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_faster_products_do_not_help_a_device_that_waits_for_the_host() -> None:
    step = launches([FLOAT] * 40, 1e-3, 1e-5, "aten::mm")
    assert evaluate("UnusedTensorCores", step.job(step.host)).episodes == ()
