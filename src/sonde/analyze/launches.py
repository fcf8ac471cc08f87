"""The cost of launching kernels: calls on the host, launch delays and short kernels."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.extents import Extents
from sonde.analyze.kernels import is_compiled, is_fusible
from sonde.analyze.operations import NO_ROW, Operations, Profile
from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.profile import OperationCategory

_MAX_OPERATORS = 4

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


@dataclass(frozen=True)
class StepLaunches:
    """The work that a host launched on one device in one step."""

    device: str
    launches: float  # kernels, copies and memory sets that the host launched one by one
    after_fusion: float  # launches left once neighboring pointwise kernels are merged
    graphs: int  # launches of CUDA graphs, in the window
    is_compiled: bool
    busy_ns: float
    operators: tuple[str, ...]  # that launch most, the first ones first


def step_launches(profile: Profile) -> StepLaunches | None:
    """Return the launches per step on the device with the most operations; None without one."""
    operations = profile.operations
    devices = operations.device_names
    if not devices:
        return None
    device = max(devices, key=lambda name: int(_rows_of(operations, name).size))
    rows = _rows_of(operations, device)
    steps = max(1, profile.steps)
    is_fusible_row = operations.names.where(is_fusible)[rows]
    # of neighboring fusible kernels, one remains
    is_merged = is_fusible_row & np.append(False, is_fusible_row[:-1])
    calls = operations.launches[rows]
    calls = calls[calls != NO_ROW]
    is_graph = operations.names.where(lambda name: "GraphLaunch" in name)
    single = len(np.unique(calls[~is_graph[calls]])) if len(calls) else len(rows)
    kept_share = 1 - float(is_merged.mean())
    busy = Extents.of(operations.starts_ns[rows], operations.ends_ns[rows])
    return StepLaunches(
        device=device,
        launches=single / steps,
        after_fusion=single * kept_share / steps,
        graphs=int(is_graph.sum()),
        is_compiled=bool(operations.names.where(is_compiled)[rows].any()),
        busy_ns=busy.total_ns / steps,
        operators=_launching_operators(operations, rows),
    )


def _rows_of(operations: Operations, device: str) -> IntArray:
    """Return the operations of a device in order of time."""
    rows = np.flatnonzero(operations.is_on_device & operations.devices.is_in({device}))
    return rows[np.argsort(operations.starts_ns[rows], kind="stable")]


def _launching_operators(operations: Operations, rows: IntArray) -> tuple[str, ...]:
    launchers = operations.launchers[rows]
    numbers = operations.names.numbers[launchers[launchers != NO_ROW]]
    counts = Counter(numbers.tolist()).most_common(_MAX_OPERATORS)
    return tuple(operations.names.distinct[number] for number, _ in counts)
