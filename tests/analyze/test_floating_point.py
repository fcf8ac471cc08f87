"""Floating-point operations from shapes, and the peak rates of GPUs."""

import gzip
import json
from pathlib import Path

import pytest

from sonde.analyze.floating_point import hides_work, operator_flops
from sonde.analyze.kernels import Precision
from sonde.analyze.peak_rates import peak_rate

TRACE = Path(__file__).parent.parent / "golden" / "kineto_h200_one_step.json.gz"
HEADS = [16, 12, 1024, 64]


@pytest.mark.parametrize(
    ("name", "shapes", "products"),
    [
        ("aten::mm", [[4, 8], [8, 16]], 4 * 8 * 16),
        ("aten::addmm", [[16], [4, 8], [8, 16], [], []], 4 * 8 * 16),
        ("aten::bmm", [[3, 4, 8], [3, 8, 16]], 3 * 4 * 8 * 16),
        ("aten::baddbmm", [[3, 4, 16], [3, 4, 8], [3, 8, 16], [], []], 3 * 4 * 8 * 16),
        # 2 images, 5 to 7 channels, 3 x 3 weights, 6 x 6 outputs: forward and two gradients
        (
            "aten::convolution_backward",
            [[2, 7, 6, 6], [2, 5, 8, 8], [7, 5, 3, 3], [], []],
            3 * 2 * 7 * 36 * 5 * 9,
        ),
        # transposed: weights are 7 inputs by 5 outputs
        (
            "aten::convolution_backward",
            [[2, 5, 12, 12], [2, 7, 6, 6], [7, 5, 2, 2], [], []],
            3 * 2 * 7 * 36 * 5 * 4,
        ),
        ("aten::_scaled_dot_product_flash_attention", [HEADS] * 3, 2 * 16 * 12 * 1024 * 1024 * 64),
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            [HEADS] * 4,
            4 * 16 * 12 * 1024 * 1024 * 64,
        ),
        ("aten::add", [[4, 8], [4, 8]], 0),
        ("aten::mm", [], 0),
    ],
)
def test_each_multiplication_and_addition_counts(
    name: str, shapes: list[list[int]], products: int
) -> None:
    assert operator_flops(name, shapes) == 2 * products


def test_a_step_of_gpt2_matches_the_count_from_its_parameters() -> None:
    with gzip.open(TRACE) as file:
        events = json.load(file)["traceEvents"]
    total = sum(
        operator_flops(event["name"], event["args"].get("Input Dims", []))
        for event in events
        if event.get("cat") == "cpu_op"
    )
    tokens, width, layers, length, words = 16 * 1024, 768, 12, 1024, 50_304
    parameters = layers * 12 * width**2 + words * width
    expected = tokens * (6 * parameters + 12 * layers * width * length)
    assert total == pytest.approx(expected, rel=0.01)


def test_work_without_shapes_is_known_to_be_missing() -> None:
    hidden = ("cudaGraphLaunch", "aten::_cudnn_rnn", "triton_tem_fused_mm_0")
    assert all(map(hides_work, hidden))
    assert not hides_work("aten::mm")


def test_peaks_are_those_of_dense_matrices_in_the_precision_used() -> None:
    assert peak_rate("NVIDIA H200", Precision.HALF) == pytest.approx(989e12)
    assert peak_rate("NVIDIA H100 PCIe", Precision.TF32) == pytest.approx(378e12)
    assert peak_rate("NVIDIA A100-SXM4-80GB", Precision.FLOAT32) == pytest.approx(19.5e12)
    assert peak_rate("Tesla T4", Precision.TF32) is None
    assert peak_rate("Unheard-of GPU", Precision.HALF) is None
