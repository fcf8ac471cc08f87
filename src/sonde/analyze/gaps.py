"""Find the idle time of devices and its causes.

A gap ends with the next operation of the device. The launch of that operation tells the cause:

- data: the training thread waited for a batch for at least half of the gap.
- sync: the host was blocked in a synchronization, so no operation was queued when the device
  finished, and the device waits until the host launches again.
- host: the host launched too late for any other reason; it was busy in operators or in Python.
- device: the operation was launched before the gap began. The delay is on the device: between two
  kernels, or because it waited for another stream.
- unknown: the launch is not known.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sonde.analyze.breakdown import is_blocking, known_extent
from sonde.analyze.extents import Extents
from sonde.analyze.operations import NO_ROW, Nesting, Operations, Profile
from sonde.records.arrays import IntArray
from sonde.records.profile import OperationCategory
from sonde.records.step import Phase

_TOLERANCE_NS = 20_000
_INFINITE_NS = 2**62
_PYTHON_FRAME = re.compile(r".*\.py\(\d+\): ")


class Cause(StrEnum):
    """Why a device was idle."""

    HOST = "host"
    DATA = "data"
    SYNC = "sync"
    DEVICE = "device"
    UNKNOWN = "unknown"


_CAUSE_NUMBERS = {cause: number for number, cause in enumerate(Cause)}


@dataclass(frozen=True)
class Gap:
    """An interval in which a device was idle."""

    worker: int
    device: str
    start_ns: int
    duration_ns: int
    cause: Cause
    phase: str  # of the launch or of the synchronization
    operator: str  # that launched the next operation or, for `sync`, that waited
    module: str


@dataclass(frozen=True)
class Synchronization:
    """A place in the program where the host waits for a device, over all its calls."""

    worker: int
    operator: str  # the outermost operator, or the driver call if there is none
    call: str
    module: str
    line: str  # Python line, if stacks were recorded
    phase: str
    calls: int
    blocked_ns: int  # time that the host waited
    idle_ns: int  # idle time of devices in the gaps that follow

    def merged_with(self, synchronization: "Synchronization") -> "Synchronization":
        """Add the calls of the same place in another window."""
        return replace(
            self,
            calls=self.calls + synchronization.calls,
            blocked_ns=self.blocked_ns + synchronization.blocked_ns,
            idle_ns=self.idle_ns + synchronization.idle_ns,
        )


@dataclass(frozen=True)
class _Calls:
    """Driver calls that wait for a device, sorted by time, and their origins."""

    rows: IntArray
    starts_ns: IntArray
    ends_ns: IntArray
    origins: tuple[tuple[str, str, str, str], ...]  # operator, call, module, line

    def waiting_at(self, instants_ns: IntArray) -> IntArray:
        """Return the index of the call that waited at each instant, or NO_ROW."""
        if not len(self.rows):
            return np.full(len(instants_ns), NO_ROW, dtype=np.int64)
        # a copy to the host may end shortly before the call that waits for it begins
        indices = np.searchsorted(self.starts_ns, instants_ns + _TOLERANCE_NS, side="right") - 1
        is_hit = (indices >= 0) & (self.ends_ns[indices] >= instants_ns)
        return np.where(is_hit, indices, NO_ROW).astype(np.int64)


@dataclass(frozen=True)
class IdleTime:
    """All gaps and synchronizations of one window."""

    gaps: tuple[Gap, ...]
    synchronizations: tuple[Synchronization, ...]


def merge_synchronizations(results: Iterable[Synchronization]) -> tuple[Synchronization, ...]:
    """Merge the synchronizations of several windows by place, most expensive first."""
    merged: dict[tuple[object, ...], Synchronization] = {}
    for result in results:
        key = (
            result.worker,
            result.operator,
            result.call,
            result.module,
            result.line,
            result.phase,
        )
        existing = merged.get(key)
        merged[key] = result if existing is None else existing.merged_with(result)
    return tuple(sorted(merged.values(), key=lambda item: -(item.idle_ns + item.blocked_ns)))


def find_gaps(profile: Profile) -> IdleTime:
    """Find the gaps of a worker's devices, and the synchronizations of its host."""
    calls = _blocking_calls(profile.operations)
    gaps: list[Gap] = []
    idle_ns = np.zeros(len(calls.rows), dtype=np.int64)
    for device in profile.operations.device_names:
        columns = _gaps_of(profile, device, calls)
        gaps += columns.gaps(profile, device, calls)
        is_sync = columns.causes == _CAUSE_NUMBERS[Cause.SYNC]
        np.add.at(idle_ns, columns.waiting_calls[is_sync], columns.lengths_ns[is_sync])
    return IdleTime(tuple(gaps), _synchronizations(profile, calls, idle_ns))


@dataclass(frozen=True)
class _GapColumns:
    """The gaps of one device, as columns."""

    starts_ns: IntArray
    lengths_ns: IntArray
    causes: IntArray
    launchers: IntArray  # rows of outermost operators
    launches: IntArray  # rows of driver calls
    waiting_calls: IntArray  # indices into the blocking calls

    def gaps(self, profile: Profile, device: str, calls: _Calls) -> list[Gap]:
        """Return the gaps as records."""
        operations, all_causes = profile.operations, tuple(Cause)
        phases = profile.phases.at(self._cause_times_ns(operations, calls), Phase.BETWEEN.value)
        result = []
        for index in range(len(self.starts_ns)):
            cause = all_causes[self.causes[index]]
            origin = _names_of(operations, int(self.launchers[index]), int(self.launches[index]))
            if cause is Cause.SYNC:
                operator, _, module, _ = calls.origins[self.waiting_calls[index]]
                origin = (operator, module)
            start_ns, length_ns = int(self.starts_ns[index]), int(self.lengths_ns[index])
            fields = (start_ns, length_ns, cause, phases[index], *origin)
            result.append(Gap(profile.worker, device, *fields))
        return result

    def _cause_times_ns(self, operations: Operations, calls: _Calls) -> IntArray:
        """Return when the host caused each gap; if that is not known, the start of the gap."""
        launched = np.where(
            self.launches == NO_ROW, self.starts_ns, operations.starts_ns[self.launches]
        )
        if not len(calls.rows):
            return launched
        is_sync = self.causes == _CAUSE_NUMBERS[Cause.SYNC]
        return np.where(is_sync, calls.starts_ns[self.waiting_calls], launched)


def _gaps_of(profile: Profile, device: str, calls: _Calls) -> _GapColumns:
    operations = profile.operations
    rows = np.flatnonzero(operations.is_on_device & operations.devices.is_in({device}))
    rows = rows[np.argsort(operations.starts_ns[rows], kind="stable")]
    idle = Extents.of(operations.starts_ns[rows], operations.ends_ns[rows]).gaps(
        *known_extent(profile, device)
    )
    indices = np.searchsorted(operations.starts_ns[rows], idle.ends_ns)
    is_last = indices == len(rows)
    following = rows[np.minimum(indices, len(rows) - 1)]
    launches = np.where(is_last, NO_ROW, operations.launches[following])
    waiting_calls = calls.waiting_at(idle.starts_ns)
    lengths = idle.ends_ns - idle.starts_ns
    data_waits = profile.phases.extents(Phase.DATA_WAIT.value)
    is_data = data_waits.covered_ns(idle.starts_ns, idle.ends_ns) * 2 >= lengths
    is_known = launches != NO_ROW
    causes = np.select(
        [
            is_known & (operations.ends_ns[launches] <= idle.starts_ns),
            is_data,
            is_known & (waiting_calls != NO_ROW),
            is_known,
        ],
        [_CAUSE_NUMBERS[item] for item in (Cause.DEVICE, Cause.DATA, Cause.SYNC, Cause.HOST)],
        _CAUSE_NUMBERS[Cause.UNKNOWN],
    )
    launchers = operations.nesting.outermost(launches, operations.is_operator)
    return _GapColumns(idle.starts_ns, lengths, causes, launchers, launches, waiting_calls)


def _names_of(operations: Operations, launcher: int, launch: int) -> tuple[str, str]:
    """Return the names of an operator and its module; without an operator, those of the call."""
    row = launch if launcher == NO_ROW else launcher
    return ("", "") if row == NO_ROW else (operations.names[row], operations.modules[row])


def _blocking_calls(operations: Operations) -> _Calls:
    rows = np.flatnonzero(is_blocking(operations))
    rows = rows[np.argsort(operations.starts_ns[rows], kind="stable")]
    operators = operations.nesting.outermost(rows, operations.is_operator)
    is_operator = operations.is_operator
    # before the first and after the last operator, the profiler itself waits for the devices
    first = operations.starts_ns[is_operator].min(initial=_INFINITE_NS)
    last = operations.ends_ns[is_operator].max(initial=-_INFINITE_NS)
    starts, ends = operations.starts_ns[rows], operations.ends_ns[rows]
    is_profiler = (operators == NO_ROW) & ((starts >= last) | (ends <= first))
    rows, operators = rows[~is_profiler], operators[~is_profiler]
    lines = _lines(operations, rows)
    origins = tuple(
        (operator, operations.names[row], module, line)
        for row, outer, line in zip(rows.tolist(), operators.tolist(), lines, strict=True)
        for operator, module in [_names_of(operations, outer, row)]
    )
    return _Calls(rows, operations.starts_ns[rows], operations.ends_ns[rows], origins)


def _lines(operations: Operations, rows: IntArray) -> list[str]:
    """Return the innermost Python function around each row; empty without recorded stacks."""
    is_python = operations.categories.is_in({OperationCategory.PYTHON.value})
    is_python &= operations.names.where(lambda name: _PYTHON_FRAME.match(name) is not None)
    if not is_python.any() or not len(rows):
        return [""] * len(rows)
    is_selected = np.zeros(len(operations), dtype=np.bool_)
    is_selected[rows] = True
    nearest = Nesting.of(operations, is_python | is_selected).nearest(rows, is_python)
    return ["" if row == NO_ROW else operations.names[row] for row in nearest.tolist()]


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
    return tuple(Synchronization(profile.worker, *key, *sums) for key, sums in result.items())
