"""Tables of operators by the time they take on the host and on devices.

- calls: number of calls; for operators on the host, for kernels on their device.
- self: time without callees, summed over threads.
- total: time including callees. Recursive calls are not counted twice.
- share: self time as a part of the wall time. Concurrent threads or streams share the time equally,
  so that all shares and the time not covered add up to the wall time.
- device self and total: kernels, copies and memory sets launched by the operator directly, or
  including its callees. They count for the operator that launched them, whenever they run.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sonde.analyze.extents import Extents, SharedTime
from sonde.analyze.operations import NO_ROW, Nesting, Operations, Profile, TextColumn
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
    """Rows and the wall time that their shares refer to."""

    rows: tuple[OperatorRow, ...]
    wall_ns: float

    @property
    def not_covered_ns(self) -> float:
        """The time in which none of the operators ran."""
        return max(0.0, self.wall_ns - sum(row.share_ns for row in self.rows))


def host_operators(profiles: Iterable[Profile], by: str = "operator") -> OperatorTable:
    """Return the time of the host's threads by `operator`, `module` or `phase`."""
    return _merged([_host(profile, by) for profile in profiles])


def device_operators(profiles: Iterable[Profile], by: str = "operator") -> OperatorTable:
    """Return the time of devices by (launching) `operator`, `kernel`, `module` or `phase`.

    The wall time is the sum over all devices.
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
    is_counted = work & ~nesting.is_recursive(labels.numbers)
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
        on_device = which & operations.devices.is_in({device})
        starts, ends = operations.starts_ns[on_device], operations.ends_ns[on_device]
        shares[on_device] = SharedTime(starts, ends).of(starts, ends)
    labels = _device_labels(profile, by)
    sums = [which.astype(np.float64), spent, spent, shares, spent, spent]
    rows = _rows(labels, sums, which, which)
    if by == "operator":
        rows = _with_outer_operators(rows, operations)
    if by == "module":
        rows = _with_inner_modules(rows)
    return OperatorTable(rows, profile.wall_ns * max(1, len(devices)))


def _device_times(operations: Operations) -> tuple[FloatArray, FloatArray]:
    """Return the device time that each host row launched: directly, and including nested rows.

    Device time counts for the operator around the driver call, not for the driver call.
    """
    direct = np.zeros(len(operations))
    is_known = operations.launches != NO_ROW
    calls, launchers = operations.launches[is_known], operations.launchers[is_known]
    spent = operations.durations_ns[is_known].astype(np.float64)
    np.add.at(direct, np.where(launchers == NO_ROW, calls, launchers), spent)
    nesting = operations.nesting
    total = direct.copy()
    for depth in range(int(nesting.depths.max(initial=0)), 0, -1):
        rows = np.flatnonzero(nesting.depths == depth)
        np.add.at(total, nesting.parents[rows], total[rows])
    return direct, total


def _host_labels(profile: Profile, by: str) -> TextColumn:
    operations = profile.operations
    if by == "module":
        return operations.modules
    if by == "phase":
        return profile.phases.at(operations.starts_ns, _NO_PHASE)
    return operations.names


def _device_labels(profile: Profile, by: str) -> TextColumn:
    """Return the label of each device row; the labels of host rows have no meaning."""
    operations = profile.operations
    launchers, launches = operations.launchers, operations.launches
    if by == "phase":
        started = np.where(launches == NO_ROW, operations.starts_ns, operations.starts_ns[launches])
        return profile.phases.at(started, _NO_PHASE)
    if by == "kernel":
        return operations.names
    column = operations.modules if by == "module" else operations.names
    numbers = column.numbers
    return replace(column, numbers=np.where(launchers == NO_ROW, numbers, numbers[launchers]))


def _shared_by_lanes(operations: Operations) -> SharedTime:
    """Share time between active threads, regardless of how deep their operations nest."""
    work = operations.is_work
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for lane in np.unique(operations.lanes.numbers[work]).tolist():
        in_lane = work & (operations.lanes.numbers == lane)
        busy = Extents.of(operations.starts_ns[in_lane], operations.ends_ns[in_lane])
        starts.append(busy.starts_ns)
        ends.append(busy.ends_ns)
    return SharedTime(np.concatenate(starts), np.concatenate(ends))


def _without_inner(spent: FloatArray, nesting: Nesting) -> FloatArray:
    remaining = spent.copy()
    inner = np.flatnonzero(nesting.parents != NO_ROW)
    np.subtract.at(remaining, nesting.parents[inner], spent[inner])
    return remaining


_TOTALS = (2, 5)  # indices of the sums that include nested rows


def _rows(
    labels: TextColumn, sums: list[FloatArray], which: BoolArray, is_counted: BoolArray
) -> tuple[OperatorRow, ...]:
    """Return one row per label, with totals over rows that are not part of a recursion."""
    label_count = len(labels.distinct)
    label_sums = [
        np.bincount(labels.numbers[rows], values[rows], label_count)
        for index, values in enumerate(sums)
        for rows in [is_counted if index in _TOTALS else which]
    ]
    return tuple(
        OperatorRow(
            labels.distinct[number],
            int(label_sums[0][number]),
            *(float(values[number]) for values in label_sums[1:]),
        )
        for number in np.flatnonzero(label_sums[0]).tolist()
    )


def _with_inner_modules(rows: Iterable[OperatorRow]) -> tuple[OperatorRow, ...]:
    """Add the times of nested modules (`encoder.0` in `encoder`) to the totals of modules."""
    result = {row.name: row for row in rows}
    totals = dict.fromkeys(result, (0.0, 0.0))
    for name, row in result.items():
        segments = name.split(".")
        prefixes = {".".join(segments[:count]) for count in range(1, len(segments) + 1)}
        for module in prefixes & set(totals):
            host_ns, device_ns = totals[module]
            totals[module] = (host_ns + row.self_ns, device_ns + row.device_self_ns)
    return tuple(
        replace(row, total_ns=totals[row.name][0], device_total_ns=totals[row.name][1])
        for row in result.values()
    )


def _with_outer_operators(
    rows: Iterable[OperatorRow], operations: Operations
) -> tuple[OperatorRow, ...]:
    """Add totals, including operators whose callees launched kernels."""
    result = {row.name: replace(row, total_ns=0.0, device_total_ns=0.0) for row in rows}
    nesting, names = operations.nesting, operations.names
    _, total_ns = _device_times(operations)
    outer = operations.is_operator & ~nesting.is_recursive(names.numbers) & (total_ns > 0)
    totals = np.bincount(names.numbers[outer], total_ns[outer], len(names.distinct))
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
