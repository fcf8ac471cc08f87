"""The GPU's statistics of tensors: right on nasty values, and how fast on a GPT-2-size model.

`PYTHONPATH=src python3 -m benchmarks.statistics_kernel` on a machine with an NVIDIA GPU prints
JSON; needs nothing but torch. Without a GPU it says so and ends well.
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
_SLACK = 1e-5  # of the sum of magnitudes: singles are summed in singles within a chunk
_EMBEDDINGS, _WIDTH, _LAYERS = 50_304, 768, 12

Tensors = dict[str, torch.Tensor]
Launch = Callable[[Mapping[str, torch.Tensor], bool], Pending]


def main() -> int:
    """Checks, measures, prints."""
    if not torch.cuda.is_available():
        print("no NVIDIA GPU here: nothing to measure")
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
        "float32, a third zeros": _speed(_model(torch.float32, zeros=True)),
        "bfloat16": _speed(_model(torch.bfloat16)),
    }
    document["reference"] = _reference()
    print(json.dumps(document, indent=1))
    return int(bool(document["wrong"]))


def rows_of(document: dict[str, Any]) -> list[Row]:
    """What was printed, as rows of the page of results."""
    reference = document["reference"]["one_sum_over_a_flat_tensor_gigabytes_per_second"]
    rows = []
    for what, speed in document["speed"].items():
        plain, bar = speed["plain_gigabytes_per_second"], speed["bar_gigabytes_per_second"]
        is_promised = what == "float32"
        note = (
            f"{speed['tensors']} tensors, {speed['gigabytes']:.2f} GB in "
            f"{speed['plain_milliseconds']:.3f} ms; with histograms "
            f"{speed['histogram_milliseconds']:.3f} ms; the host takes "
            f"{speed['plain_host_microseconds']:.0f} µs; a plain sum over one flat tensor "
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
    """What differs from sums in double precision and from the processor's histograms."""
    for turn in range(3):  # memory of a launch is used again, for tensors elsewhere
        tensors = dict(_nasty(turn))
        pending = launch(tensors, True)
        plain = launch(tensors, False).measured()
        torch.cuda.synchronize()
        if not pending.is_ready():
            yield "not ready after everything is done"
        found = pending.measured()
        expected = measure({name: tensor.cpu() for name, tensor in tensors.items()}, True)
        yield from (f"left out {name}: {why}" for name, why in found.left_out.items())
        for one in (found, plain):
            yield from _differences(one, expected, one is found)


def _differences(found: Measured, expected: Measured, with_histogram: bool) -> Iterator[str]:
    if sorted(found.names) != sorted(expected.names):
        yield f"names: {sorted(set(expected.names) ^ set(found.names))}"
    places = {name: place for place, name in enumerate(found.names)}
    for row, name in enumerate(expected.names):
        place = places.get(name, -1)
        if place < 0:
            continue
        magnitude = expected.columns[-1][row]
        for column, ours, right in zip(COLUMNS, found.columns, expected.columns, strict=True):
            slack = _SLACK * magnitude if column in ("sum", "sum_of_absolutes") else 0.0
            slack = _SLACK * right[row] if column == "sum_of_squares" else slack
            if not _is_close(ours[place], right[row], slack):
                yield f"{name} {column}: {ours[place]!r}, should be {right[row]!r}"
        if with_histogram and found.histograms[place] != expected.histograms[row]:
            ours_text, right_text = found.histograms[place][:80], expected.histograms[row][:80]
            yield f"{name} histogram: {ours_text}, should be {right_text}"


def _is_close(found: float, right: float, slack: float) -> bool:
    both_nan = math.isnan(found) and math.isnan(right)
    return both_nan or found == right or abs(found - right) <= slack


def _nasty(seed: int) -> Iterator[tuple[str, torch.Tensor]]:
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
            yield f"nasty {dtype} {size}", sprinkled[:size].to(dtype)
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
    yield "turned", matrix.T
    yield "gaps", matrix[::2, ::3]
    yield "double", matrix.double() * 1e200
    yield "integers", (matrix * 100).to(torch.int32)
    yield "booleans", matrix > 0
    yield "eight bits", matrix.to(torch.float8_e4m3fn)
    yield "parameter", torch.nn.Parameter(matrix.clone())
    yield "complex", torch.view_as_complex(matrix[:, :400].reshape(300, 200, 2).contiguous())


def _model(dtype: torch.dtype, zeros: bool = False) -> Tensors:
    """Weights and gradients of a model of 163 M parameters in 149 tensors."""
    shapes: dict[str, tuple[int, ...]] = {
        "embedding": (_EMBEDDINGS, _WIDTH),
        "positions": (1024, _WIDTH),
        "head": (_EMBEDDINGS, _WIDTH),
        "norm.weight": (_WIDTH,),
        "norm.bias": (_WIDTH,),
    }
    for layer in range(_LAYERS):
        for part, (out, into) in {
            "qkv": (3, 1),
            "mix": (1, 1),
            "up": (4, 1),
            "down": (1, 4),
        }.items():
            shapes[f"{layer}.{part}.weight"] = (out * _WIDTH, into * _WIDTH)
            shapes[f"{layer}.{part}.bias"] = (out * _WIDTH,)
        for part in ("norm_1", "norm_2"):
            shapes[f"{layer}.{part}.weight"] = shapes[f"{layer}.{part}.bias"] = (_WIDTH,)
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
    found: dict[str, float] = {"tensors": len(tensors), "gigabytes": size / 1e9}
    for name, with_histogram in (("plain", False), ("histogram", True)):

        def once(with_histogram: bool = with_histogram) -> Pending:
            return statistics_cuda.launch(tensors, with_histogram)

        milliseconds = _device_milliseconds(once)
        found[f"{name}_milliseconds"] = milliseconds
        found[f"{name}_gigabytes_per_second"] = size / 1e6 / milliseconds
        found[f"{name}_host_microseconds"] = _host_microseconds(once)
    found["histogram_ratio"] = found["histogram_milliseconds"] / found["plain_milliseconds"]
    found["bar_gigabytes_per_second"] = _BAR_GIGABYTES_PER_SECOND
    return found


def _device_milliseconds(once: Callable[[], object]) -> float:
    """Of the device alone: everything is queued behind a pause before the first one begins."""
    _finish([once() for _ in range(_ROUNDS)])  # compiles, and leaves memory to be used again
    start, end = _event(), _event()
    _pause(100_000_000)
    start.record()
    kept = [once() for _ in range(_ROUNDS)]
    end.record()
    _finish(kept)
    return float(start.elapsed_time(end)) / _ROUNDS


def _finish(begun: list[object]) -> None:
    torch.cuda.synchronize()
    for one in begun:
        if isinstance(one, Pending):
            one.measured()


def _host_microseconds(once: Callable[[], Pending]) -> float:
    """Of the thread that trains, with memory that is used again as in a real job."""
    seconds = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        pending = once()
        seconds.append(time.perf_counter() - started)
        torch.cuda.synchronize()
        pending.measured()
    return 1e6 * statistics.median(seconds)


def _reference() -> dict[str, float]:
    """What else could be done with the same memory."""
    tensors = list(_model(torch.float32).values())
    size = sum(tensor.nbytes for tensor in tensors)
    flat = torch.randn(size // 4, device="cuda", dtype=torch.float32)
    summed = _device_milliseconds(flat.sum)
    norms = _device_milliseconds(
        lambda: [torch._foreach_norm(tensors, order) for order in (1, 2, math.inf)]  # noqa: SLF001 — what others do
    )
    return {
        "one_sum_over_a_flat_tensor_gigabytes_per_second": size / 1e6 / summed,
        "three_foreach_norms_milliseconds": norms,
    }


def _pause(cycles: int) -> None:
    sleep: Callable[[int], None] = torch.cuda._sleep  # noqa: SLF001 — nothing else keeps it busy
    sleep(cycles)


def _event() -> Any:
    make: Callable[..., Any] = torch.cuda.Event
    return make(enable_timing=True)


if __name__ == "__main__":
    sys.exit(main())
