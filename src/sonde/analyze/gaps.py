"""When a device had nothing to do, and why.

A gap ends when the device starts something again; who started that, and when, tells the cause:

- data: for at least half of the gap the training thread waited for a batch.
- sync: the host was blocked until the device had done everything; so nothing was queued when it
  had, and the device waits until the host has come round to launching again.
- host: the host launched too late, for any other reason: it was busy in operators or in Python.
- device: the launch was there before the gap began. The device itself took the time, between two
  kernels, or waited for another stream.
- unknown: no launch is known.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sonde.analyze.breakdown import is_blocking, known_extent
from sonde.analyze.extents import Extents
from sonde.analyze.operations import NOBODY, Nesting, Operations, Profile
from sonde.records.arrays import IntArray
from sonde.records.profile import OperationCategory
from sonde.records.step import Phase

_SOON_NS = 20_000
_FAR_NS = 2**62
_IN_A_FILE = re.compile(r".*\.py\(\d+\): ")


class Cause(StrEnum):
    """Why a device had nothing to do."""

    HOST = "host"
    DATA = "data"
    SYNC = "sync"
    DEVICE = "device"
    UNKNOWN = "unknown"


_NUMBER = {cause: number for number, cause in enumerate(Cause)}


@dataclass(frozen=True)
class Gap:
    """A stretch in which a device did nothing."""

    worker: int
    device: str
    start_ns: int
    duration_ns: int
    cause: Cause
    phase: str  # in which that was launched, or waited
    operator: str  # that ended it by launching; for a synchronization, the one that waited
    module: str


@dataclass(frozen=True)
class Synchronization:
    """A place from which the host waits for a device, over all its calls."""

    worker: int
    operator: str  # the outermost; the call itself where there is none
    call: str
    module: str
    line: str  # of Python, where stacks were recorded
    phase: str
    calls: int
    blocked_ns: int  # the host, waiting
    idle_ns: int  # devices, in the gaps that follow

    def with_more(self, synchronization: "Synchronization") -> "Synchronization":
        """The same place with the calls of another window."""
        return replace(
            self,
            calls=self.calls + synchronization.calls,
            blocked_ns=self.blocked_ns + synchronization.blocked_ns,
            idle_ns=self.idle_ns + synchronization.idle_ns,
        )


@dataclass(frozen=True)
class _Calls:
    """Calls of the driver that wait for a device, in order, and where each comes from."""

    rows: IntArray
    starts_ns: IntArray
    ends_ns: IntArray
    origins: tuple[tuple[str, str, str, str], ...]  # operator, call, module, line

    def waiting_at(self, instants_ns: IntArray) -> IntArray:
        """The place of the call that waited at each instant; NOBODY where none did."""
        if not len(self.rows):
            return np.full(len(instants_ns), NOBODY, dtype=np.int64)
        # a copy to the host may be over when the call that waits for it has yet to begin
        indices = np.searchsorted(self.starts_ns, instants_ns + _SOON_NS, side="right") - 1
        is_hit = (indices >= 0) & (self.ends_ns[indices] >= instants_ns)
        return np.where(is_hit, indices, NOBODY).astype(np.int64)


@dataclass(frozen=True)
class IdleTime:
    """Every gap of the devices of one window, and every place that waits for them."""

    gaps: tuple[Gap, ...]
    synchronizations: tuple[Synchronization, ...]


def added_up(results: Iterable[Synchronization]) -> tuple[Synchronization, ...]:
    """The places of several windows: each once, what costs the most first."""
    indices: dict[tuple[object, ...], Synchronization] = {}
    for result in results:
        key = (
            result.worker,
            result.operator,
            result.call,
            result.module,
            result.line,
            result.phase,
        )
        existing = indices.get(key)
        indices[key] = result if existing is None else existing.with_more(result)
    return tuple(sorted(indices.values(), key=lambda index: -(index.idle_ns + index.blocked_ns)))


def find_gaps(profile: Profile) -> IdleTime:
    """When the devices of a worker had nothing to do, and why."""
    calls = _blocking_calls(profile.operations)
    gaps: list[Gap] = []
    idle_ns = np.zeros(len(calls.rows), dtype=np.int64)
    for device in profile.operations.device_names:
        result = _gaps_of(profile, device, calls)
        gaps += result.gaps(profile, device, calls)
        is_sync = result.causes == _NUMBER[Cause.SYNC]
        np.add.at(idle_ns, result.waited[is_sync], result.lengths_ns[is_sync])
    return IdleTime(tuple(gaps), _synchronizations(profile, calls, idle_ns))


@dataclass(frozen=True)
class _FoundGap:
    """Gaps of one device, column by column."""

    starts_ns: IntArray
    lengths_ns: IntArray
    causes: IntArray
    launchers: IntArray  # outermost operators
    launches: IntArray
    waited: IntArray  # places of calls

    def gaps(self, profile: Profile, device: str, calls: _Calls) -> list[Gap]:
        """As records."""
        operations, existing = profile.operations, tuple(Cause)
        phases = profile.phases.at(self._blamed_ns(operations, calls), Phase.BETWEEN.value)
        result = []
        for index in range(len(self.starts_ns)):
            cause = existing[self.causes[index]]
            who = _names_of(operations, int(self.launchers[index]), int(self.launches[index]))
            if cause is Cause.SYNC:
                operator, _, module, _ = calls.origins[self.waited[index]]
                who = (operator, module)
            start_ns, length_ns = int(self.starts_ns[index]), int(self.lengths_ns[index])
            about = (start_ns, length_ns, cause, phases[index], *who)
            result.append(Gap(profile.worker, device, *about))
        return result

    def _blamed_ns(self, operations: Operations, calls: _Calls) -> IntArray:
        """When the host did what the gap is due to; where that is not known, when it began."""
        launched = np.where(
            self.launches == NOBODY, self.starts_ns, operations.starts_ns[self.launches]
        )
        if not len(calls.rows):
            return launched
        is_sync = self.causes == _NUMBER[Cause.SYNC]
        return np.where(is_sync, calls.starts_ns[self.waited], launched)


def _gaps_of(profile: Profile, device: str, calls: _Calls) -> _FoundGap:
    operations = profile.operations
    mine = np.flatnonzero(operations.is_on_device & operations.devices.are_in({device}))
    mine = mine[np.argsort(operations.starts_ns[mine], kind="stable")]
    free = Extents.of(operations.starts_ns[mine], operations.ends_ns[mine]).gaps(
        *known_extent(profile, device)
    )
    indices = np.searchsorted(operations.starts_ns[mine], free.ends_ns)
    is_last = indices == len(mine)
    following = mine[np.minimum(indices, len(mine) - 1)]
    launches = np.where(is_last, NOBODY, operations.launches[following])
    waited = calls.waiting_at(free.starts_ns)
    lengths = free.ends_ns - free.starts_ns
    waits = profile.phases.extents(Phase.DATA_WAIT.value)
    no_data = waits.covered_ns(free.starts_ns, free.ends_ns) * 2 >= lengths
    is_known = launches != NOBODY
    causes = np.select(
        [
            is_known & (operations.ends_ns[launches] <= free.starts_ns),
            no_data,
            is_known & (waited != NOBODY),
            is_known,
        ],
        [_NUMBER[item] for item in (Cause.DEVICE, Cause.DATA, Cause.SYNC, Cause.HOST)],
        _NUMBER[Cause.UNKNOWN],
    )
    launchers = operations.nesting.outermost(launches, operations.is_operator)
    return _FoundGap(free.starts_ns, lengths, causes, launchers, launches, waited)


def _names_of(operations: Operations, launcher: int, launch: int) -> tuple[str, str]:
    """An operator and its module; the call's own name where it has no operator."""
    row = launch if launcher == NOBODY else launcher
    return ("", "") if row == NOBODY else (operations.names[row], operations.modules[row])


def _blocking_calls(operations: Operations) -> _Calls:
    rows = np.flatnonzero(is_blocking(operations))
    rows = rows[np.argsort(operations.starts_ns[rows], kind="stable")]
    operators = operations.nesting.outermost(rows, operations.is_operator)
    active = operations.is_operator
    # around the operators of a window the profiler itself waits for the devices
    first = operations.starts_ns[active].min(initial=_FAR_NS)
    last = operations.ends_ns[active].max(initial=-_FAR_NS)
    starts = operations.starts_ns[rows]
    is_own = (operators == NOBODY) & ((starts >= last) | (operations.ends_ns[rows] <= first))
    rows, operators = rows[~is_own], operators[~is_own]
    lines = _lines(operations, rows)
    origins = tuple(
        (operator, operations.names[row], module, line)
        for row, outer, line in zip(rows.tolist(), operators.tolist(), lines, strict=True)
        for operator, module in [_names_of(operations, outer, row)]
    )
    return _Calls(rows, operations.starts_ns[rows], operations.ends_ns[rows], origins)


def _lines(operations: Operations, rows: IntArray) -> list[str]:
    """The innermost function of a file that each row was called from; needs recorded stacks."""
    is_python = operations.categories.are_in({OperationCategory.PYTHON.value})
    is_python &= operations.names.where(lambda name: _IN_A_FILE.match(name) is not None)
    if not is_python.any() or not len(rows):
        return [""] * len(rows)
    mine = np.zeros(len(operations), dtype=np.bool_)
    mine[rows] = True
    nearest = Nesting.of(operations, is_python | mine).nearest(rows, is_python)
    return ["" if row == NOBODY else operations.names[row] for row in nearest.tolist()]


def _synchronizations(
    profile: Profile, calls: _Calls, idle_ns: IntArray
) -> tuple[Synchronization, ...]:
    phases = profile.phases.at(calls.starts_ns, Phase.BETWEEN.value)
    result: dict[tuple[str, str, str, str, str], list[int]] = {}
    blocked_ns = (calls.ends_ns - calls.starts_ns).tolist()
    for index, origin in enumerate(calls.origins):
        sums = result.setdefault((*origin, phases[index]), [0, 0, 0])
        for number, value in enumerate((1, blocked_ns[index], int(idle_ns[index]))):
            sums[number] += value
    return tuple(Synchronization(profile.worker, *who, *sums) for who, sums in result.items())
