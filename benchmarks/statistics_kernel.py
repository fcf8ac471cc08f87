"""Tensor statistics on a GPU: correctness on edge cases, speed on a model of the size of GPT-2.

`PYTHONPATH=src python3 -m benchmarks.statistics_kernel` prints JSON. Requires an NVIDIA GPU and
torch. Without a GPU, it prints a message and exits.
"""

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from benchmarks.report import Row
from sonde.hook.torch.tensors import statistics_cuda
from sonde.hook.torch.tensors.statistics import Measured, Pending, measure
from sonde.hook.torch.tensors.statistics_operators import ByOperators
from sonde.store.statistics import COLUMNS

_ROUNDS = 30
_BAR_GIGABYTES_PER_SECOND = 3800.0
_SLACK = 1e-5  # relative to the sum of magnitudes: chunks are summed in single precision
_EMBEDDINGS, _WIDTH, _LAYERS = 50_304, 768, 12

Tensors = dict[str, torch.Tensor]
Launch = Callable[[Mapping[str, torch.Tensor], bool], Pending]


def main() -> int:
    """Check, measure and print the results."""
    if not torch.cuda.is_available():
        print("No NVIDIA GPU: nothing to measure")
        return 0
    kernels = statistics_cuda.KERNELS
    document: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": kernels.triton.__version__ if kernels else None,
        "wrong": [],
    }
    for name, launch in (("kernel", statistics_cuda.launch), ("operators", ByOperators)):
        document["wrong"] += [f"{name}: {what}" for what in _wrong(launch)]
    document["wrong"] = document["wrong"][:60]
    document["speed"] = {
        "float32": _speed(_model(torch.float32)),
        "float32, one third zeros": _speed(_model(torch.float32, zeros=True)),
        "bfloat16": _speed(_model(torch.bfloat16)),
    }
    document["reference"] = _reference()
    print(json.dumps(document, indent=1))
    return int(bool(document["wrong"]))


def rows_of(document: dict[str, Any]) -> list[Row]:
    """Convert the printed document to rows of the results page."""
    reference = document["reference"]["one_sum_over_a_flat_tensor_gigabytes_per_second"]
    rows = []
    for what, speed in document["speed"].items():
        plain, bar = speed["plain_gigabytes_per_second"], speed["bar_gigabytes_per_second"]
        is_promised = what == "float32"
        note = (
            f"{speed['tensors']} tensors, {speed['gigabytes']:.2f} GB in "
            f"{speed['plain_milliseconds']:.3f} ms; with histograms "
            f"{speed['histogram_milliseconds']:.3f} ms; "
            f"{speed['plain_host_microseconds']:.0f} µs on the host; a sum over one flat tensor "
            f"reaches {reference:,.0f} GB/s"
        )
        rows.append(
            Row(
                f"statistics of all weights and gradients, {what}",
                plain,
                "GB/s",
                f"≥ {bar:,.0f} GB/s" if is_promised else "",
                plain >= bar and not document["wrong"] if is_promised else None,
                note=note,
            )
        )
    return rows


def _wrong(launch: Launch) -> Iterator[str]:
    """Yield differences from double-precision sums and from histograms on the CPU."""
    for turn in range(3):  # launches reuse memory for other tensors
        tensors = dict(_edge_cases(turn))
        pending = launch(tensors, True)
        without_histograms = launch(tensors, False).measured()
        torch.cuda.synchronize()
        if not pending.is_ready():
            yield "not ready after synchronization"
        with_histograms = pending.measured()
        expected = measure({name: tensor.cpu() for name, tensor in tensors.items()}, True)
        yield from (f"skipped {name}: {why}" for name, why in with_histograms.left_out.items())
        for result in (with_histograms, without_histograms):
            yield from _differences(result, expected, result is with_histograms)


def _differences(actual: Measured, expected: Measured, with_histogram: bool) -> Iterator[str]:
    if sorted(actual.names) != sorted(expected.names):
        yield f"names: {sorted(set(expected.names) ^ set(actual.names))}"
    index_by_name = {name: index for index, name in enumerate(actual.names)}
    for row, name in enumerate(expected.names):
        index = index_by_name.get(name, -1)
        if index < 0:
            continue
        magnitude = expected.columns[-1][row]
        for column, ours, right in zip(COLUMNS, actual.columns, expected.columns, strict=True):
            slack = _SLACK * magnitude if column in ("sum", "sum_of_absolutes") else 0.0
            slack = _SLACK * right[row] if column == "sum_of_squares" else slack
            if not _is_close(ours[index], right[row], slack):
                yield f"{name} {column}: {ours[index]!r}, expected {right[row]!r}"
        if with_histogram and actual.histograms[index] != expected.histograms[row]:
            ours_text, right_text = actual.histograms[index][:80], expected.histograms[row][:80]
            yield f"{name} histogram: {ours_text}, expected {right_text}"


def _is_close(actual: float, expected: float, slack: float) -> bool:
    both_nan = math.isnan(actual) and math.isnan(expected)
    return both_nan or actual == expected or abs(actual - expected) <= slack


def _edge_cases(seed: int) -> Iterator[tuple[str, torch.Tensor]]:
    generator = torch.Generator("cuda").manual_seed(seed)
    special = torch.tensor(
        [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, -1e-40, 3e38, -3e38, 1e-20, 6e-8],
        device="cuda",
    )
    sizes = (1, 2, 511, 512, 513, 4096, 16_383, 16_384, 16_385, 49_152, 200_001)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for size in sizes:
            normal = torch.randn(size + 1, device="cuda", generator=generator)
            sprinkled = normal.clone()
            sprinkled[::97] = special[torch.arange(0, size + 1, 97, device="cuda") % len(special)]
            yield f"normal {dtype} {size}", normal[:size].to(dtype)
            yield f"special values {dtype} {size}", sprinkled[:size].to(dtype)
            yield f"unaligned {dtype} {size}", sprinkled.to(dtype)[1:]
            for scale in (1e-30, 1e-42, 1e30, 1e-6):
                yield f"times {scale} {dtype} {size}", (normal[:size] * scale).to(dtype)
            wide = torch.exp(20 * normal[:size])
            yield f"many magnitudes {dtype} {size}", (wide * normal[:size]).to(dtype)
            yield f"rectified {dtype} {size}", torch.relu(normal[:size]).to(dtype)
            for value in (0.0, -0.0, math.nan, math.inf, -1.5):
                yield f"all {value} {dtype} {size}", torch.full_like(normal[:size], value).to(dtype)
    matrix = torch.randn(300, 401, device="cuda", generator=generator)
    yield "scalar", matrix[0, 0].clone()
    yield "empty", matrix[:0]
    yield "transposed", matrix.T
    yield "strided", matrix[::2, ::3]
    yield "double", matrix.double() * 1e200
    yield "integers", (matrix * 100).to(torch.int32)
    yield "booleans", matrix > 0
    yield "8-bit float", matrix.to(torch.float8_e4m3fn)
    yield "parameter", torch.nn.Parameter(matrix.clone())
    yield "complex", torch.view_as_complex(matrix[:, :400].reshape(300, 200, 2).contiguous())


def _model(dtype: torch.dtype, zeros: bool = False) -> Tensors:
    """Return weights and gradients of a model of 163 M parameters in 149 tensors."""
    shapes: dict[str, tuple[int, ...]] = {
        "embedding": (_EMBEDDINGS, _WIDTH),
        "positions": (1024, _WIDTH),
        "head": (_EMBEDDINGS, _WIDTH),
        "norm.weight": (_WIDTH,),
        "norm.bias": (_WIDTH,),
    }
    for layer in range(_LAYERS):
        for module, (out, into) in {
            "qkv": (3, 1),
            "mix": (1, 1),
            "up": (4, 1),
            "down": (1, 4),
        }.items():
            shapes[f"{layer}.{module}.weight"] = (out * _WIDTH, into * _WIDTH)
            shapes[f"{layer}.{module}.bias"] = (out * _WIDTH,)
        for module in ("norm_1", "norm_2"):
            shapes[f"{layer}.{module}.weight"] = shapes[f"{layer}.{module}.bias"] = (_WIDTH,)
    tensors: Tensors = {}
    for kind, scale in (("weight", 0.02), ("gradient", 1e-4)):
        for name, shape in shapes.items():
            values = torch.randn(shape, device="cuda", dtype=torch.float32) * scale
            if zeros:
                values *= torch.rand(shape, device="cuda", dtype=torch.float32) > 1 / 3
            tensors[f"{kind}/{name}"] = values.to(dtype)
    return tensors


def _speed(tensors: Tensors) -> dict[str, float]:
    size = sum(tensor.nbytes for tensor in tensors.values())
    results: dict[str, float] = {"tensors": len(tensors), "gigabytes": size / 1e9}
    for name, with_histogram in (("plain", False), ("histogram", True)):

        def once(with_histogram: bool = with_histogram) -> Pending:
            return statistics_cuda.launch(tensors, with_histogram)

        milliseconds = _device_milliseconds(once)
        results[f"{name}_milliseconds"] = milliseconds
        results[f"{name}_gigabytes_per_second"] = size / 1e6 / milliseconds
        results[f"{name}_host_microseconds"] = _host_microseconds(once)
    results["histogram_ratio"] = results["histogram_milliseconds"] / results["plain_milliseconds"]
    results["bar_gigabytes_per_second"] = _BAR_GIGABYTES_PER_SECOND
    return results


def _device_milliseconds(once: Callable[[], object]) -> float:
    """Measure device time only: all launches are queued behind a pause."""
    _finish([once() for _ in range(_ROUNDS)])  # compiles kernels and allocates memory for reuse
    start, end = _event(), _event()
    _pause(100_000_000)
    start.record()
    launches = [once() for _ in range(_ROUNDS)]
    end.record()
    _finish(launches)
    return float(start.elapsed_time(end)) / _ROUNDS


def _finish(launches: list[object]) -> None:
    torch.cuda.synchronize()
    for launch in launches:
        if isinstance(launch, Pending):
            launch.measured()


def _host_microseconds(once: Callable[[], Pending]) -> float:
    """Measure the training thread, with reused memory as in a real job."""
    seconds = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        pending = once()
        seconds.append(time.perf_counter() - started)
        torch.cuda.synchronize()
        pending.measured()
    return 1e6 * statistics.median(seconds)


def _reference() -> dict[str, float]:
    """Measure other operations on the same amount of memory."""
    tensors = list(_model(torch.float32).values())
    size = sum(tensor.nbytes for tensor in tensors)
    flat = torch.randn(size // 4, device="cuda", dtype=torch.float32)
    summed = _device_milliseconds(flat.sum)
    norms = _device_milliseconds(
        lambda: [torch._foreach_norm(tensors, order) for order in (1, 2, math.inf)]  # noqa: SLF001 — a common alternative
    )
    return {
        "one_sum_over_a_flat_tensor_gigabytes_per_second": size / 1e6 / summed,
        "three_foreach_norms_milliseconds": norms,
    }


def _pause(cycles: int) -> None:
    sleep: Callable[[int], None] = torch.cuda._sleep  # noqa: SLF001 — there is no public function
    sleep(cycles)


def _event() -> Any:
    make: Callable[..., Any] = torch.cuda.Event
    return make(enable_timing=True)


if __name__ == "__main__":
    sys.exit(main())
