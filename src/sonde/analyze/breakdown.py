"""Break down the time of a device into parts that add up to the wall time.

For a GPU, by the operations that run at each instant:

- compute: kernels without concurrent communication.
- communication overlapped: collectives while kernels compute.
- communication exposed: collectives while no kernel computes.
- copies: only memory copies or memory sets.
- idle: no operation.
- not covered: unknown. Before its first recorded operation, the device may have run operations
  that were launched earlier; it counts as idle only if the first operation began right after its
  launch.

For the host (`cpu`), by the activity of its threads: compute is any operator or driver call;
communication is collectives of the framework; idle is waiting for data or for a device; not
covered is the rest, such as Python code and libraries without operators.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from sonde.analyze.extents import Extents
from sonde.analyze.operations import HOST, NO_ROW, Operations, Profile
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.profile import OperationCategory
from sonde.records.step import Phase

_PROMPT_NS = 100_000  # a kernel starts within this time of its launch only on an idle device
_KERNELS = frozenset({OperationCategory.KERNEL.value})
_COLLECTIVES = frozenset({OperationCategory.COLLECTIVE.value})
_COMMUNICATING = ("nccl", "rccl", "msccl", "c10d::", "gloo:", "oneccl")


@dataclass(frozen=True)
class Breakdown:
    """The time of one device of one worker, in nanoseconds; the parts add up to `wall_ns`."""

    worker: int
    device: str
    wall_ns: int
    compute_ns: int
    communication_overlapped_ns: int
    communication_exposed_ns: int
    copies_ns: int
    idle_ns: int
    not_covered_ns: int

    def __add__(self, breakdown: "Breakdown") -> "Breakdown":
        sums = [
            getattr(self, field.name) + getattr(breakdown, field.name)
            for field in fields(self)
            if field.name not in ("worker", "device")
        ]
        return Breakdown(self.worker, self.device, *sums)


TIME_SHARES = tuple(
    field.name.removesuffix("_ns")
    for field in fields(Breakdown)
    if field.name not in ("worker", "device", "wall_ns")
)


def breakdowns(profiles: Iterable[Profile]) -> tuple[Breakdown, ...]:
    """Return the breakdown per worker and device, host first; windows of a worker are added up."""
    result: dict[tuple[int, str], Breakdown] = {}
    for profile in profiles:
        devices = profile.operations.device_names
        breakdowns = [_of_host(profile), *(_of_device(profile, device) for device in devices)]
        for breakdown in breakdowns:
            key = (breakdown.worker, breakdown.device)
            result[key] = result[key] + breakdown if key in result else breakdown
    return tuple(result.values())


def known_extent(profile: Profile, device: str) -> tuple[int, int]:
    """Return start and end of the time in which the activity of a device is known."""
    operations = profile.operations
    rows = np.flatnonzero(operations.is_on_device & operations.devices.is_in({device}))
    if not len(rows):
        return profile.end_ns, profile.end_ns
    first = rows[np.argmin(operations.starts_ns[rows])]
    call = int(operations.launches[first])
    is_prompt = call != NO_ROW and bool(
        operations.starts_ns[first] - operations.ends_ns[call] <= _PROMPT_NS
    )
    start_ns = profile.start_ns if is_prompt else int(operations.starts_ns[first])
    is_incomplete = _has_later_launches(operations, rows)
    return start_ns, int(operations.ends_ns[rows].max()) if is_incomplete else profile.end_ns


def _has_later_launches(operations: Operations, rows: IntArray) -> bool:
    """Whether the host launched a kernel after the last recorded operation of a device."""
    launches = operations.launches[rows]
    last = int(operations.starts_ns[launches[launches != NO_ROW]].max(initial=0))
    is_launch = operations.names.where(lambda name: "LaunchKernel" in name)
    is_launch &= operations.categories.is_in({OperationCategory.RUNTIME.value})
    return bool((is_launch & (operations.starts_ns > last)).any())


def busy(operations: Operations, which: BoolArray) -> Extents:
    """Return the time that the selected rows cover."""
    return Extents.of(operations.starts_ns[which], operations.ends_ns[which])


def is_communication(operations: Operations) -> BoolArray:
    """Return which rows are collectives, by category or by the kernel names of libraries."""
    named = operations.names.where(
        lambda name: any(word in name.lower() for word in _COMMUNICATING)
    )
    return named | operations.categories.is_in(_COLLECTIVES)


def is_blocking(operations: Operations) -> BoolArray:
    """Return which rows are driver calls that wait for a device."""
    is_call = operations.categories.is_in({OperationCategory.RUNTIME.value})
    return is_call & operations.names.where(_waits)


def _waits(name: str) -> bool:
    if name.startswith(("cudaMemcpy", "hipMemcpy", "cuMemcpy")):
        return "Async" not in name
    # freeing memory waits until no operation can use it
    return name.endswith("Synchronize") or name in ("cudaFree", "hipFree")


def _of_device(profile: Profile, device: str) -> Breakdown:
    operations = profile.operations
    on_device = operations.is_on_device & operations.devices.is_in({device})
    is_exchange = is_communication(operations)
    is_kernel = operations.categories.is_in(_KERNELS)
    compute = busy(operations, on_device & is_kernel & ~is_exchange)
    communication = busy(operations, on_device & is_kernel & is_exchange)
    copies = busy(operations, on_device & ~is_kernel)
    first, last = known_extent(profile, device)
    active = compute | communication | copies
    overlapped = (communication & compute).total_ns
    return Breakdown(
        worker=profile.worker,
        device=device,
        wall_ns=profile.wall_ns,
        compute_ns=compute.total_ns - overlapped,
        communication_overlapped_ns=overlapped,
        communication_exposed_ns=communication.total_ns - overlapped,
        copies_ns=(copies - (compute | communication)).total_ns,
        idle_ns=active.gaps(first, last).total_ns,
        not_covered_ns=profile.wall_ns - (last - first),
    )


def _of_host(profile: Profile) -> Breakdown:
    compute, communication, blocked = _host_work(profile.operations)
    window = Extents.single(profile.start_ns, profile.end_ns)
    waiting = (profile.phases.extents(Phase.DATA_WAIT.value) & window) | blocked
    overlapped = (communication & compute).total_ns
    times = {
        "compute_ns": compute.total_ns - overlapped,
        "communication_overlapped_ns": overlapped,
        "communication_exposed_ns": communication.total_ns - overlapped,
        "copies_ns": 0,
        "idle_ns": (waiting - (compute | communication)).total_ns,
    }
    return Breakdown(
        worker=profile.worker,
        device=HOST,
        wall_ns=profile.wall_ns,
        **times,
        not_covered_ns=profile.wall_ns - sum(times.values()),
    )


def _host_work(operations: Operations) -> tuple[Extents, Extents, Extents]:
    """Return the times of computing, communicating and waiting, over all threads.

    Waiting inside an operator counts as waiting only.
    """
    is_exchange = is_communication(operations) & operations.devices.is_in({HOST})
    is_wait = is_blocking(operations)
    compute = communication = blocked = Extents.single(0, 0)
    for lane in np.unique(operations.lanes.numbers[operations.is_work | is_exchange]).tolist():
        in_lane = operations.lanes.numbers == lane
        lane_exchange = busy(operations, in_lane & is_exchange)
        lane_wait = busy(operations, in_lane & is_wait)
        compute |= busy(operations, in_lane & operations.is_work) - lane_exchange - lane_wait
        communication |= lane_exchange
        blocked |= lane_wait
    return compute, communication, blocked
