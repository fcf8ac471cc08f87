"""Where the time of a device went: parts that add up to the time that passed.

Of a GPU, by what runs on it at each instant:

- compute: kernels, and no communication.
- communication overlapped: collectives while kernels compute. It costs nothing but room.
- communication exposed: collectives and nothing else that computes.
- copies: memory is copied or set, and nothing else happens.
- idle: nothing.
- not covered: nothing is known. Before the first operation that was recorded the device may have
  been at work on what was started earlier; it counts as idle only if that operation began as soon
  as it was started.

Of the host (`cpu`), by what its threads do: compute is any operator or call of the driver;
communication is collectives of the framework; idle is waiting, for data or for a device; not
covered is the rest: Python and libraries that no operator knows of.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from sonde.analyze.extents import Extents
from sonde.analyze.operations import HOST, NOBODY, Operations, Profile
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.profile import OperationCategory
from sonde.records.step import Phase

_PROMPT_NS = 100_000  # so soon after its launch a kernel starts only where nothing is ahead of it
_KERNELS = frozenset({OperationCategory.KERNEL.value})
_COLLECTIVES = frozenset({OperationCategory.COLLECTIVE.value})
_COMMUNICATING = ("nccl", "rccl", "msccl", "c10d::", "gloo:", "oneccl")


@dataclass(frozen=True)
class Breakdown:
    """The time of one device of one worker, in nanoseconds; the parts add up to the whole."""

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
    """Per worker and device, the host first; several windows of a worker are added up."""
    result: dict[tuple[int, str], Breakdown] = {}
    for profile in profiles:
        devices = profile.operations.device_names
        breakdowns = [_of_host(profile), *(_of_device(profile, device) for device in devices)]
        for breakdown in breakdowns:
            key = (breakdown.worker, breakdown.device)
            result[key] = result[key] + breakdown if key in result else breakdown
    return tuple(result.values())


def known_extent(profile: Profile, device: str) -> tuple[int, int]:
    """From when to when it is known what a device did."""
    operations = profile.operations
    mine = np.flatnonzero(operations.is_on_device & operations.devices.are_in({device}))
    if not len(mine):
        return profile.end_ns, profile.end_ns
    first = mine[np.argmin(operations.starts_ns[mine])]
    call = int(operations.launches[first])
    is_prompt = call != NOBODY and bool(
        operations.starts_ns[first] - operations.ends_ns[call] <= _PROMPT_NS
    )
    start_ns = profile.start_ns if is_prompt else int(operations.starts_ns[first])
    has_more = _is_awaited(operations, mine)
    return start_ns, int(operations.ends_ns[mine].max()) if has_more else profile.end_ns


def _is_awaited(operations: Operations, mine: IntArray) -> bool:
    """Whether the host launched more than what was recorded of the device."""
    launches = operations.launches[mine]
    last = int(operations.starts_ns[launches[launches != NOBODY]].max(initial=0))
    is_launch = operations.names.where(lambda name: "LaunchKernel" in name)
    is_launch &= operations.categories.are_in({OperationCategory.RUNTIME.value})
    return bool((is_launch & (operations.starts_ns > last)).any())


def busy(operations: Operations, which: BoolArray) -> Extents:
    """What some rows cover."""
    return Extents.of(operations.starts_ns[which], operations.ends_ns[which])


def is_communication(operations: Operations) -> BoolArray:
    """Collectives: by their category, or by the names that libraries give their kernels."""
    named = operations.names.where(
        lambda name: any(word in name.lower() for word in _COMMUNICATING)
    )
    return named | operations.categories.are_in(_COLLECTIVES)


def is_blocking(operations: Operations) -> BoolArray:
    """Calls of the driver that return only when a device has done something."""
    is_call = operations.categories.are_in({OperationCategory.RUNTIME.value})
    return is_call & operations.names.where(_waits)


def _waits(name: str) -> bool:
    if name.startswith(("cudaMemcpy", "hipMemcpy", "cuMemcpy")):
        return "Async" not in name
    # memory is freed only when nothing can be using it
    return name.endswith("Synchronize") or name in ("cudaFree", "hipFree")


def _of_device(profile: Profile, device: str) -> Breakdown:
    operations = profile.operations
    mine = operations.is_on_device & operations.devices.are_in({device})
    exchanges = is_communication(operations)
    is_kernel = operations.categories.are_in(_KERNELS)
    compute = busy(operations, mine & is_kernel & ~exchanges)
    communication = busy(operations, mine & is_kernel & exchanges)
    copies = busy(operations, mine & ~is_kernel)
    first, last = known_extent(profile, device)
    anything = compute | communication | copies
    overlapped = (communication & compute).total_ns
    return Breakdown(
        worker=profile.worker,
        device=device,
        wall_ns=profile.wall_ns,
        compute_ns=compute.total_ns - overlapped,
        communication_overlapped_ns=overlapped,
        communication_exposed_ns=communication.total_ns - overlapped,
        copies_ns=(copies - (compute | communication)).total_ns,
        idle_ns=anything.gaps(first, last).total_ns,
        not_covered_ns=profile.wall_ns - (last - first),
    )


def _of_host(profile: Profile) -> Breakdown:
    compute, communication, blocked = _host_work(profile.operations)
    total = Extents.single(profile.start_ns, profile.end_ns)
    waiting = (profile.phases.extents(Phase.DATA_WAIT.value) & total) | blocked
    overlapped = (communication & compute).total_ns
    breakdowns = {
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
        **breakdowns,
        not_covered_ns=profile.wall_ns - sum(breakdowns.values()),
    )


def _host_work(operations: Operations) -> tuple[Extents, Extents, Extents]:
    """What threads compute, exchange and wait for; an operator that holds a wait waits."""
    exchanges = is_communication(operations) & operations.devices.are_in({HOST})
    blocks = is_blocking(operations)
    compute = communication = blocked = Extents.single(0, 0)
    for lane in np.unique(operations.lanes.numbers[operations.is_work | exchanges]).tolist():
        mine = operations.lanes.numbers == lane
        exchanged, waited = busy(operations, mine & exchanges), busy(operations, mine & blocks)
        compute |= busy(operations, mine & operations.is_work) - exchanged - waited
        communication |= exchanged
        blocked |= waited
    return compute, communication, blocked
