"""The cost of launching kernels: calls on the host, launch delays and short kernels."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.operations import NO_ROW, Profile
from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.profile import OperationCategory

SHORT_NS = 10_000  # a shorter kernel ends before the host can launch the next one


@dataclass(frozen=True)
class LaunchCost:
    """The kernels of one device of one worker, and the cost of launching them."""

    worker: int
    device: str
    kernels: int
    kernel_mean_ns: float
    kernel_p50_ns: float
    short_percent: float  # share of kernels shorter than SHORT_NS
    launches: int  # number of driver calls; a graph counts once
    call_mean_ns: float  # host time per call
    call_total_ns: float
    delay_p50_ns: float  # from the end of the call to the start of the kernel
    delay_p95_ns: float


def launch_costs(profiles: Iterable[Profile]) -> tuple[LaunchCost, ...]:
    """Return the launch cost per worker and device, over all windows."""
    result: dict[tuple[int, str], list[tuple[IntArray, IntArray, IntArray]]] = {}
    for profile in profiles:
        for device in profile.operations.device_names:
            numbers = _launches(profile, device)
            if len(numbers[0]):
                result.setdefault((profile.worker, device), []).append(numbers)
    return tuple(
        _cost(worker, device, *(_joined(item) for item in zip(*sections, strict=True)))
        for (worker, device), sections in result.items()
    )


def _joined(arrays: Iterable[IntArray]) -> FloatArray:
    return np.concatenate(list(arrays)).astype(np.float64)


def _launches(profile: Profile, device: str) -> tuple[IntArray, IntArray, IntArray]:
    """Return the durations of kernels and of launch calls, and the launch delays."""
    operations = profile.operations
    is_kernel = operations.categories.is_in({OperationCategory.KERNEL.value})
    rows = np.flatnonzero(is_kernel & operations.devices.is_in({device}))
    launched = rows[operations.launches[rows] != NO_ROW]
    calls = operations.launches[launched]
    # a kernel may begin before its launch call has returned
    delays = np.maximum(operations.starts_ns[launched] - operations.ends_ns[calls], 0)
    return operations.durations_ns[rows], operations.durations_ns[np.unique(calls)], delays


def _cost(
    worker: int, device: str, kernels: FloatArray, calls: FloatArray, delays: FloatArray
) -> LaunchCost:
    [[kernel_p50]] = percentiles(kernels[None, :], (50,))
    [[delay_p50, delay_p95]] = percentiles(delays[None, :], (50, 95))
    return LaunchCost(
        worker=worker,
        device=device,
        kernels=len(kernels),
        kernel_mean_ns=float(kernels.mean()),
        kernel_p50_ns=float(kernel_p50),
        short_percent=100 * float((kernels < SHORT_NS).mean()),
        launches=len(calls),
        call_mean_ns=float(calls.mean()) if len(calls) else float("nan"),
        call_total_ns=float(calls.sum()),
        delay_p50_ns=float(delay_p50),
        delay_p95_ns=float(delay_p95),
    )
