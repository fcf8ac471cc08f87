"""The operations of one profiled window of one worker, as columns, and how rows are related.

On the host, the operations of a thread nest, so each has up to one parent. On a device, each
operation was started by a driver call with the same correlation number.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sonde.analyze.extents import Extents
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory

HOST = "cpu"
NO_ROW = -1  # the index of no row

_ON_DEVICE = frozenset(item.value for item in DEVICE_CATEGORIES)
_WORK = frozenset(
    item.value
    for item in (
        OperationCategory.OPERATOR,
        OperationCategory.RUNTIME,
        OperationCategory.COLLECTIVE,
    )
)
_TIMED = _WORK | _ON_DEVICE | {OperationCategory.ANNOTATION.value}
_OPERATORS = frozenset((OperationCategory.OPERATOR.value, OperationCategory.COLLECTIVE.value))


@dataclass(frozen=True)
class TextColumn:
    """A column of strings: the distinct values, and the value number of each row."""

    distinct: tuple[str, ...]
    numbers: IntArray

    def where(self, condition: Callable[[str], bool]) -> BoolArray:
        """Return which rows fulfill a condition; it is evaluated once per distinct text."""
        is_match = np.array([condition(text) for text in self.distinct], dtype=np.bool_)
        if not len(is_match):
            return np.zeros(len(self.numbers), dtype=np.bool_)
        return np.asarray(is_match[self.numbers])

    def is_in(self, texts: Container[str]) -> BoolArray:
        """Return which rows have one of the given texts."""
        return self.where(lambda text: text in texts)

    def __getitem__(self, row: int) -> str:
        return self.distinct[int(self.numbers[row])]


@dataclass(frozen=True)
class Operations:
    """The operations of a profile, as columns."""

    names: TextColumn
    categories: TextColumn
    lanes: TextColumn
    devices: TextColumn
    modules: TextColumn
    starts_ns: IntArray
    durations_ns: IntArray
    correlations: IntArray

    def __len__(self) -> int:
        return len(self.starts_ns)

    @property
    def ends_ns(self) -> IntArray:
        """The end time of each operation."""
        return self.starts_ns + self.durations_ns

    @cached_property
    def is_on_device(self) -> BoolArray:
        """Whether each row is a kernel, a copy or a memory set."""
        return self.categories.is_in(_ON_DEVICE)

    @cached_property
    def is_work(self) -> BoolArray:
        """Whether each row is work of the host: an operator, a driver call or a collective."""
        return self.categories.is_in(_WORK) & ~self.is_on_device

    @cached_property
    def is_operator(self) -> BoolArray:
        """Whether each row is an operator or a collective of the framework, on the host."""
        return self.categories.is_in(_OPERATORS)

    @cached_property
    def is_timed(self) -> BoolArray:
        """Whether a row counts for the duration of the window: work and annotations."""
        return self.categories.is_in(_TIMED)

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the devices with operations, sorted."""
        used = np.unique(self.devices.numbers[self.is_on_device]).tolist()
        return tuple(sorted(self.devices.distinct[number] for number in used))

    @cached_property
    def nesting(self) -> "Nesting":
        """The nesting of the host's work."""
        return Nesting.of(self, self.is_work)

    @cached_property
    def launches(self) -> IntArray:
        """For each row of a device, the driver call that started it; NO_ROW if unknown."""
        calls = np.flatnonzero(
            (self.correlations != NO_CORRELATION)
            & self.categories.is_in({OperationCategory.RUNTIME.value})
        )
        launches = np.full(len(self), NO_ROW, dtype=np.int64)
        if len(calls):
            calls = calls[np.argsort(self.correlations[calls], kind="stable")]
            keys = self.correlations[calls]
            rows = np.flatnonzero(self.is_on_device & (self.correlations != NO_CORRELATION))
            indices = np.minimum(np.searchsorted(keys, self.correlations[rows]), len(keys) - 1)
            is_match = keys[indices] == self.correlations[rows]
            launches[rows[is_match]] = calls[indices[is_match]]
        return launches

    @cached_property
    def launchers(self) -> IntArray:
        """For each row of a device, the innermost operator that started it, or NO_ROW."""
        return self.nesting.nearest(self.launches, self.is_operator)


@dataclass(frozen=True)
class Nesting:
    """The parent of each row on the same lane, its end within the parent, and its depth."""

    parents: IntArray
    ends_ns: IntArray  # limited to the end of the parent
    depths: IntArray

    @classmethod
    def of(cls, operations: Operations, which: BoolArray) -> "Nesting":
        """Nest the selected rows; the other rows get no parent."""
        rows = np.flatnonzero(which)
        starts, ends = operations.starts_ns[rows], operations.ends_ns[rows]
        lanes = operations.lanes.numbers[rows]
        order = np.lexsort((-ends, starts, lanes))
        parents = [NO_ROW] * len(operations)
        depths = [0] * len(operations)
        limited_ends = operations.ends_ns.copy()
        stack: list[tuple[int, int]] = []  # row and end of open operations, outermost first
        last_lane = -1
        columns = (rows[order], starts[order], ends[order], lanes[order])
        for row, start, end, lane in zip(*(column.tolist() for column in columns), strict=True):
            if lane != last_lane:
                stack.clear()
                last_lane = lane
            while stack and stack[-1][1] <= start:
                stack.pop()
            limited_end = min(end, stack[-1][1]) if stack else end
            if stack:
                parents[row], depths[row] = stack[-1][0], len(stack)
                limited_ends[row] = limited_end
            stack.append((row, limited_end))
        return cls(np.array(parents, np.int64), limited_ends, np.array(depths, np.int64))

    def nearest(self, rows: IntArray, is_candidate: BoolArray) -> IntArray:
        """Return, for each row, the row itself or its innermost ancestor that is a candidate."""
        result = rows.copy()
        while True:
            is_moving = (result != NO_ROW) & ~is_candidate[result]
            if not is_moving.any():
                return result
            result[is_moving] = self.parents[result[is_moving]]

    def outermost(self, rows: IntArray, is_candidate: BoolArray) -> IntArray:
        """Return, for each row, the outermost candidate among the row and its ancestors."""
        result = np.full(len(rows), NO_ROW, dtype=np.int64)
        ancestors = rows.copy()
        while (ancestors != NO_ROW).any():
            is_hit = (ancestors != NO_ROW) & is_candidate[ancestors]
            result[is_hit] = ancestors[is_hit]
            ancestors = np.where(ancestors == NO_ROW, NO_ROW, self.parents[ancestors])
        return result

    def is_recursive(self, labels: IntArray) -> BoolArray:
        """Return which rows have an ancestor with the same label."""
        result = np.zeros(len(labels), dtype=np.bool_)
        ancestors = self.parents.copy()
        while (ancestors != NO_ROW).any():
            result |= (ancestors != NO_ROW) & (labels[ancestors] == labels)
            ancestors = np.where(ancestors == NO_ROW, NO_ROW, self.parents[ancestors])
        return result


@dataclass(frozen=True)
class Phases:
    """The phases of the training thread, as named intervals."""

    names: tuple[str, ...] = ()
    starts_ns: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    ends_ns: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def at(self, instants_ns: IntArray, otherwise: str) -> TextColumn:
        """Return the phase at each instant; of nested phases, the one that began last."""
        distinct = (otherwise, *dict.fromkeys(self.names))
        numbers = np.zeros(len(instants_ns), dtype=np.int64)
        order = np.argsort(instants_ns, kind="stable")
        ordered = instants_ns[order]
        result = numbers[order]
        for index in np.lexsort((-self.ends_ns, self.starts_ns)).tolist():
            first, last = np.searchsorted(ordered, (self.starts_ns[index], self.ends_ns[index]))
            result[first:last] = distinct.index(self.names[index])
        numbers[order] = result
        return TextColumn(distinct, numbers)

    def extents(self, name: str) -> Extents:
        """Return the time that one phase covers."""
        is_match = np.array([item == name for item in self.names], dtype=np.bool_)
        return Extents.of(self.starts_ns[is_match], self.ends_ns[is_match])


@dataclass(frozen=True)
class Profile:
    """One profiled window of one worker, with its phases and number of steps."""

    worker: int
    operations: Operations
    phases: Phases = field(default_factory=Phases)
    steps: int = 0
    flops: float | None = None  # of matrix products and attention per step; None if unknown

    @cached_property
    def start_ns(self) -> int:
        """The start of the first operation, on host or device."""
        return int(min(self.operations.starts_ns[self.operations.is_timed].tolist(), default=0))

    @cached_property
    def end_ns(self) -> int:
        """The end of the last operation, on host or device."""
        return int(max(self.operations.ends_ns[self.operations.is_timed].tolist(), default=0))

    @property
    def wall_ns(self) -> int:
        """The duration of the window, which all shares refer to."""
        return self.end_ns - self.start_ns
