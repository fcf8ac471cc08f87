"""What a profiler saw in one window of one worker, as columns, and how the rows hang together.

Host: operations of a thread nest, so that each has at most one that it lies directly in. Device:
what runs there was started by a call of the driver, which has the same correlation.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sonde.analyze.extents import Extents
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory

HOST = "cpu"
NOBODY = -1

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
class Texts:
    """A column of texts: the distinct ones, and which one each row has."""

    distinct: tuple[str, ...]
    numbers: IntArray

    def where(self, is_wanted: Callable[[str], bool]) -> BoolArray:
        """The rows whose text matches; evaluated once per distinct text."""
        is_match = np.array([is_wanted(text) for text in self.distinct], dtype=np.bool_)
        if not len(is_match):
            return np.zeros(len(self.numbers), dtype=np.bool_)
        return np.asarray(is_match[self.numbers])

    def are_in(self, texts: Container[str]) -> BoolArray:
        """The rows whose text is one of some."""
        return self.where(lambda text: text in texts)

    def __getitem__(self, row: int) -> str:
        return self.distinct[int(self.numbers[row])]


@dataclass(frozen=True)
class Operations:
    """Rows of a profile, column by column."""

    names: Texts
    categories: Texts
    lanes: Texts
    devices: Texts
    modules: Texts
    starts_ns: IntArray
    durations_ns: IntArray
    correlations: IntArray

    def __len__(self) -> int:
        return len(self.starts_ns)

    @property
    def ends_ns(self) -> IntArray:
        """When each was over."""
        return self.starts_ns + self.durations_ns

    @cached_property
    def is_on_device(self) -> BoolArray:
        """Kernels, copies and sets."""
        return self.categories.are_in(_ON_DEVICE)

    @cached_property
    def is_work(self) -> BoolArray:
        """What the host did: operators, calls of the driver, collectives; no mere names."""
        return self.categories.are_in(_WORK) & ~self.is_on_device

    @cached_property
    def is_operator(self) -> BoolArray:
        """Operators of the framework, and its collectives, on the host."""
        return self.categories.are_in(_OPERATORS)

    @cached_property
    def is_timed(self) -> BoolArray:
        """What tells how long the window was: work, on host and devices, and named stretches."""
        return self.categories.are_in(_TIMED)

    @property
    def device_names(self) -> tuple[str, ...]:
        """The devices that anything ran on, in order."""
        used = np.unique(self.devices.numbers[self.is_on_device]).tolist()
        return tuple(sorted(self.devices.distinct[number] for number in used))

    @cached_property
    def nesting(self) -> "Nesting":
        """What lies in what, among the work of the host."""
        return Nesting.of(self, self.is_work)

    @cached_property
    def launches(self) -> IntArray:
        """For each row of a device the call that started it; NOBODY where that is not known."""
        calls = np.flatnonzero(
            (self.correlations != NO_CORRELATION)
            & self.categories.are_in({OperationCategory.RUNTIME.value})
        )
        full = np.full(len(self), NOBODY, dtype=np.int64)
        if len(calls):
            calls = calls[np.argsort(self.correlations[calls], kind="stable")]
            memory = self.correlations[calls]
            rows = np.flatnonzero(self.is_on_device & (self.correlations != NO_CORRELATION))
            indices = np.minimum(np.searchsorted(memory, self.correlations[rows]), len(memory) - 1)
            is_same = memory[indices] == self.correlations[rows]
            full[rows[is_same]] = calls[indices[is_same]]
        return full

    @cached_property
    def launchers(self) -> IntArray:
        """For each row of a device the innermost operator that started it; NOBODY if none did."""
        return self.nesting.nearest(self.launches, self.is_operator)


@dataclass(frozen=True)
class Nesting:
    """For each row the one it lies directly in, on the same lane, and how far it reaches there."""

    parents: IntArray
    ends_ns: IntArray  # cut to what holds it
    depths: IntArray

    @classmethod
    def of(cls, operations: Operations, which: BoolArray) -> "Nesting":
        """Of some of the rows; the others lie in nothing."""
        rows = np.flatnonzero(which)
        starts, ends = operations.starts_ns[rows], operations.ends_ns[rows]
        lanes = operations.lanes.numbers[rows]
        order = np.lexsort((-ends, starts, lanes))
        parents = [NOBODY] * len(operations)
        depths = [0] * len(operations)
        cut = operations.ends_ns.copy()
        stack: list[tuple[int, int]] = []  # row and end, from the outermost in
        lane_before = NOBODY
        columns = (rows[order], starts[order], ends[order], lanes[order])
        for row, start, end, lane in zip(*(column.tolist() for column in columns), strict=True):
            if lane != lane_before:
                stack.clear()
                lane_before = lane
            while stack and stack[-1][1] <= start:
                stack.pop()
            reach = min(end, stack[-1][1]) if stack else end
            if stack:
                parents[row], depths[row], cut[row] = stack[-1][0], len(stack), reach
            stack.append((row, reach))
        return cls(np.array(parents, np.int64), cut, np.array(depths, np.int64))

    def nearest(self, rows: IntArray, is_wanted: BoolArray) -> IntArray:
        """From each row outwards, itself included, the first that is wanted; else NOBODY."""
        result = rows.copy()
        while True:
            moves = (result != NOBODY) & ~is_wanted[result]
            if not moves.any():
                return result
            result[moves] = self.parents[result[moves]]

    def outermost(self, rows: IntArray, is_wanted: BoolArray) -> IntArray:
        """From each row outwards, itself included, the last that is wanted; else NOBODY."""
        full = np.full(len(rows), NOBODY, dtype=np.int64)
        at = rows.copy()
        while (at != NOBODY).any():
            hits = (at != NOBODY) & is_wanted[at]
            full[hits] = at[hits]
            at = np.where(at == NOBODY, NOBODY, self.parents[at])
        return full

    def lies_in_same(self, labels: IntArray) -> BoolArray:
        """Which rows lie, however deep, in one with the same label: those of a recursion."""
        zeros = np.zeros(len(labels), dtype=np.bool_)
        at = self.parents.copy()
        while (at != NOBODY).any():
            zeros |= (at != NOBODY) & (labels[at] == labels)
            at = np.where(at == NOBODY, NOBODY, self.parents[at])
        return zeros


@dataclass(frozen=True)
class Phases:
    """Stretches of the training thread that have a phase's name."""

    names: tuple[str, ...] = ()
    starts_ns: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    ends_ns: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def at(self, instants_ns: IntArray, otherwise: str) -> Texts:
        """The phase at each instant: of several the one that began last."""
        distinct = (otherwise, *dict.fromkeys(self.names))
        numbers = np.zeros(len(instants_ns), dtype=np.int64)
        order = np.argsort(instants_ns, kind="stable")
        ordered = instants_ns[order]
        result = numbers[order]
        for index in np.lexsort((-self.ends_ns, self.starts_ns)).tolist():
            first, last = np.searchsorted(ordered, (self.starts_ns[index], self.ends_ns[index]))
            result[first:last] = distinct.index(self.names[index])
        numbers[order] = result
        return Texts(distinct, numbers)

    def extents(self, name: str) -> Extents:
        """What one phase covers."""
        mine = np.array([item == name for item in self.names], dtype=np.bool_)
        return Extents.of(self.starts_ns[mine], self.ends_ns[mine])


@dataclass(frozen=True)
class Profile:
    """One window of one worker: what was seen, and the phases and steps of that time."""

    worker: int
    operations: Operations
    phases: Phases = field(default_factory=Phases)
    steps: int = 0

    @cached_property
    def start_ns(self) -> int:
        """When the first operation began, on host or device."""
        return int(min(self.operations.starts_ns[self.operations.is_timed].tolist(), default=0))

    @cached_property
    def end_ns(self) -> int:
        """When the last operation was over."""
        return int(max(self.operations.ends_ns[self.operations.is_timed].tolist(), default=0))

    @property
    def wall_ns(self) -> int:
        """How long the window is; all shares are shares of it."""
        return self.end_ns - self.start_ns
