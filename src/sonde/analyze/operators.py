"""Which operators take the time: of the host's threads, and of the device that works for them.

- calls: how often it ran; of an operator always on the host, of a kernel on its device.
- self: what ran directly in it, without what it called; of several threads the sum.
- total: with what it called. One that calls itself is not counted twice.
- share: its self time as a part of the time that passed. While several threads, or streams, work
  at once they share that time equally, so that all shares and what none of them covers add up to
  the whole.
- device self and total: kernels, copies and sets that were started in it; directly, or also by what
  it called. They count where they were started, whenever they ran.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sonde.analyze.extents import Extents, SharedTime
from sonde.analyze.operations import NOBODY, Nesting, Operations, Profile, Texts
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.step import Phase

_NO_PHASE = Phase.BETWEEN.value


@dataclass(frozen=True)
class OperatorRow:
    """One operator, kernel, module or phase, over all its calls."""

    name: str
    calls: int = 0
    self_ns: float = 0.0
    total_ns: float = 0.0
    share_ns: float = 0.0
    device_self_ns: float = 0.0
    device_total_ns: float = 0.0

    def __add__(self, operator_row: "OperatorRow") -> "OperatorRow":
        return OperatorRow(
            self.name,
            self.calls + operator_row.calls,
            self.self_ns + operator_row.self_ns,
            self.total_ns + operator_row.total_ns,
            self.share_ns + operator_row.share_ns,
            self.device_self_ns + operator_row.device_self_ns,
            self.device_total_ns + operator_row.device_total_ns,
        )


@dataclass(frozen=True)
class OperatorTable:
    """Rows, the whole that their shares belong to, and what none of them covers."""

    rows: tuple[OperatorRow, ...]
    wall_ns: float

    @property
    def not_covered_ns(self) -> float:
        """The time that passed while none of them ran."""
        return max(0.0, self.wall_ns - sum(row.share_ns for row in self.rows))


def host_operators(profiles: Iterable[Profile], by: str = "operator") -> OperatorTable:
    """What the host's threads did; `by` operator, module or phase."""
    return _merged([_host(profile, by) for profile in profiles])


def device_operators(profiles: Iterable[Profile], by: str = "operator") -> OperatorTable:
    """What devices did; `by` operator (that started it), kernel, module or phase.

    The whole is the time of all devices together.
    """
    return _merged([_device(profile, by) for profile in profiles])


def _host(profile: Profile, by: str) -> OperatorTable:
    operations, nesting = profile.operations, profile.operations.nesting
    work = operations.is_work
    direct_ns, all_ns = _device_times(operations)
    labels = _host_labels(profile, by)
    spent = (nesting.ends_ns - operations.starts_ns).astype(np.float64)
    shared = _shared_by_lanes(operations)
    shares = shared.of(operations.starts_ns, nesting.ends_ns)
    sums = [
        work.astype(np.float64),
        _without_inner(spent, nesting),
        spent,
        _without_inner(shares, nesting),
        direct_ns,
        all_ns,
    ]
    is_counted = work & ~nesting.lies_in_same(labels.numbers)
    rows = _rows(labels, sums, work, is_counted)
    if by == "module":
        rows = _with_inner_modules(rows)
    return OperatorTable(rows, profile.wall_ns)


def _device(profile: Profile, by: str) -> OperatorTable:
    operations = profile.operations
    which = operations.is_on_device
    spent = np.where(which, operations.durations_ns, 0).astype(np.float64)
    shares = np.zeros(len(operations))
    devices = operations.device_names
    for device in devices:
        mine = which & operations.devices.are_in({device})
        starts, ends = operations.starts_ns[mine], operations.ends_ns[mine]
        shares[mine] = SharedTime(starts, ends).of(starts, ends)
    labels = _device_labels(profile, by)
    sums = [which.astype(np.float64), spent, spent, shares, spent, spent]
    rows = _rows(labels, sums, which, which)
    if by == "operator":
        rows = _with_outer_operators(rows, operations)
    if by == "module":
        rows = _with_inner_modules(rows)
    return OperatorTable(rows, profile.wall_ns * max(1, len(devices)))


def _device_times(operations: Operations) -> tuple[FloatArray, FloatArray]:
    """What each row of the host started: directly, and with all that lies in it.

    What an operator's call of the driver started is the operator's doing, not the call's.
    """
    direct = np.zeros(len(operations))
    is_known = operations.launches != NOBODY
    calls, launchers = operations.launches[is_known], operations.launchers[is_known]
    spent = operations.durations_ns[is_known].astype(np.float64)
    np.add.at(direct, np.where(launchers == NOBODY, calls, launchers), spent)
    nesting = operations.nesting
    deep = direct.copy()
    for depth in range(int(nesting.depths.max(initial=0)), 0, -1):
        rows = np.flatnonzero(nesting.depths == depth)
        np.add.at(deep, nesting.parents[rows], deep[rows])
    return direct, deep


def _host_labels(profile: Profile, by: str) -> Texts:
    operations = profile.operations
    if by == "module":
        return operations.modules
    if by == "phase":
        return profile.phases.at(operations.starts_ns, _NO_PHASE)
    return operations.names


def _device_labels(profile: Profile, by: str) -> Texts:
    """What each row of a device counts for; in rows of the host nothing of meaning."""
    operations = profile.operations
    launchers, launches = operations.launchers, operations.launches
    if by == "phase":
        started = np.where(launches == NOBODY, operations.starts_ns, operations.starts_ns[launches])
        return profile.phases.at(started, _NO_PHASE)
    if by == "kernel":
        return operations.names
    column = operations.modules if by == "module" else operations.names
    numbers = column.numbers
    return replace(column, numbers=np.where(launchers == NOBODY, numbers, numbers[launchers]))


def _shared_by_lanes(operations: Operations) -> SharedTime:
    """Every thread that does something counts once, however deep its operations nest."""
    work = operations.is_work
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for lane in np.unique(operations.lanes.numbers[work]).tolist():
        mine = work & (operations.lanes.numbers == lane)
        busy = Extents.of(operations.starts_ns[mine], operations.ends_ns[mine])
        starts.append(busy.starts_ns)
        ends.append(busy.ends_ns)
    return SharedTime(np.concatenate(starts), np.concatenate(ends))


def _without_inner(spent: FloatArray, nesting: Nesting) -> FloatArray:
    remaining = spent.copy()
    inner = np.flatnonzero(nesting.parents != NOBODY)
    np.subtract.at(remaining, nesting.parents[inner], spent[inner])
    return remaining


_TOTALS = (2, 5)  # of the sums, those that hold what lies inside


def _rows(
    labels: Texts, sums: list[FloatArray], which: BoolArray, is_counted: BoolArray
) -> tuple[OperatorRow, ...]:
    """One row per label: sums over some rows, totals over those that are not counted already."""
    maximum = len(labels.distinct)
    added = [
        np.bincount(labels.numbers[rows], item[rows], maximum)
        for index, item in enumerate(sums)
        for rows in [is_counted if index in _TOTALS else which]
    ]
    return tuple(
        OperatorRow(
            labels.distinct[number],
            int(added[0][number]),
            *(float(item[number]) for item in added[1:]),
        )
        for number in np.flatnonzero(added[0]).tolist()
    )


def _with_inner_modules(rows: Iterable[OperatorRow]) -> tuple[OperatorRow, ...]:
    """A module's total holds the modules in it: those whose names go on from its own."""
    result = {row.name: row for row in rows}
    totals = dict.fromkeys(result, (0.0, 0.0))
    for name, amounts in result.items():
        path_parts = name.split(".")
        outer = {".".join(path_parts[:count]) for count in range(1, len(path_parts) + 1)}
        for item in outer & set(totals):
            host, device = totals[item]
            totals[item] = (
                host + amounts.self_ns,
                device + amounts.device_self_ns,
            )
    return tuple(
        replace(row, total_ns=totals[row.name][0], device_total_ns=totals[row.name][1])
        for row in result.values()
    )


def _with_outer_operators(
    rows: Iterable[OperatorRow], operations: Operations
) -> tuple[OperatorRow, ...]:
    """Operators that started nothing themselves, but called one that did, have a total, too."""
    result = {row.name: replace(row, total_ns=0.0, device_total_ns=0.0) for row in rows}
    nesting, names = operations.nesting, operations.names
    _, deep = _device_times(operations)
    outer = operations.is_operator & ~nesting.lies_in_same(names.numbers) & (deep > 0)
    totals = np.bincount(names.numbers[outer], deep[outer], len(names.distinct))
    calls = np.bincount(names.numbers[operations.is_operator], minlength=len(names.distinct))
    for number in np.flatnonzero(totals).tolist():
        name, spent = names.distinct[number], float(totals[number])
        row = result.get(name, OperatorRow(name))
        count = int(calls[number])
        result[name] = replace(row, calls=count, total_ns=spent, device_total_ns=spent)
    return tuple(
        row if row.total_ns else replace(row, total_ns=row.self_ns, device_total_ns=row.self_ns)
        for row in result.values()
    )


def _merged(tables: list[OperatorTable]) -> OperatorTable:
    result: dict[str, OperatorRow] = {}
    for table in tables:
        for row in table.rows:
            result[row.name] = result[row.name] + row if row.name in result else row
    return OperatorTable(tuple(result.values()), sum(table.wall_ns for table in tables))
