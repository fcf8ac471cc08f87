"""What a profiler saw in one window of one worker, as columns, and how the rows hang together.

Host: operations of a thread nest, so that each has at most one that it lies directly in. Device:
what runs there was started by a call of the driver, which has the same correlation.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sonde.analyze.extents import Extents, Marks, Numbers
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory

HOST = "cpu"
NOBODY = -1

_ON_DEVICE = frozenset(one.value for one in DEVICE_CATEGORIES)
_WORK = frozenset(
    one.value
    for one in (
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
    numbers: Numbers

    def where(self, is_wanted: Callable[[str], bool]) -> Marks:
        """The rows whose text is wanted: asked once per distinct text."""
        wanted = np.array([is_wanted(text) for text in self.distinct], dtype=np.bool_)
        if not len(wanted):
            return np.zeros(len(self.numbers), dtype=np.bool_)
        return np.asarray(wanted[self.numbers])

    def are_in(self, texts: Container[str]) -> Marks:
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
    starts_ns: Numbers
    durations_ns: Numbers
    correlations: Numbers

    def __len__(self) -> int:
        return len(self.starts_ns)

    @property
    def ends_ns(self) -> Numbers:
        """When each was over."""
        return self.starts_ns + self.durations_ns

    @cached_property
    def is_on_device(self) -> Marks:
        """Kernels, copies and sets."""
        return self.categories.are_in(_ON_DEVICE)

    @cached_property
    def is_work(self) -> Marks:
        """What the host did: operators, calls of the driver, collectives; no mere names."""
        return self.categories.are_in(_WORK) & ~self.is_on_device

    @cached_property
    def is_operator(self) -> Marks:
        """Operators of the framework, and its collectives, on the host."""
        return self.categories.are_in(_OPERATORS)

    @cached_property
    def is_timed(self) -> Marks:
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
    def launches(self) -> Numbers:
        """For each row of a device the call that started it; NOBODY where that is not known."""
        calls = np.flatnonzero(
            (self.correlations != NO_CORRELATION)
            & self.categories.are_in({OperationCategory.RUNTIME.value})
        )
        found = np.full(len(self), NOBODY, dtype=np.int64)
        if len(calls):
            calls = calls[np.argsort(self.correlations[calls], kind="stable")]
            known = self.correlations[calls]
            rows = np.flatnonzero(self.is_on_device & (self.correlations != NO_CORRELATION))
            places = np.minimum(np.searchsorted(known, self.correlations[rows]), len(known) - 1)
            is_same = known[places] == self.correlations[rows]
            found[rows[is_same]] = calls[places[is_same]]
        return found

    @cached_property
    def launchers(self) -> Numbers:
        """For each row of a device the innermost operator that started it; NOBODY if none did."""
        return self.nesting.nearest(self.launches, self.is_operator)


@dataclass(frozen=True)
class Nesting:
    """For each row the one it lies directly in, on the same lane, and how far it reaches there."""

    parents: Numbers
    ends_ns: Numbers  # cut to what holds it
    depths: Numbers

    @classmethod
    def of(cls, operations: Operations, which: Marks) -> "Nesting":
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
        for row, start, end, lane in zip(*(one.tolist() for one in columns), strict=True):
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

    def nearest(self, rows: Numbers, is_wanted: Marks) -> Numbers:
        """From each row outwards, itself included, the first that is wanted; else NOBODY."""
        found = rows.copy()
        while True:
            moves = (found != NOBODY) & ~is_wanted[found]
            if not moves.any():
                return found
            found[moves] = self.parents[found[moves]]

    def outermost(self, rows: Numbers, is_wanted: Marks) -> Numbers:
        """From each row outwards, itself included, the last that is wanted; else NOBODY."""
        found = np.full(len(rows), NOBODY, dtype=np.int64)
        at = rows.copy()
        while (at != NOBODY).any():
            hits = (at != NOBODY) & is_wanted[at]
            found[hits] = at[hits]
            at = np.where(at == NOBODY, NOBODY, self.parents[at])
        return found

    def lies_in_same(self, labels: Numbers) -> Marks:
        """Which rows lie, however deep, in one with the same label: those of a recursion."""
        found = np.zeros(len(labels), dtype=np.bool_)
        at = self.parents.copy()
        while (at != NOBODY).any():
            found |= (at != NOBODY) & (labels[at] == labels)
            at = np.where(at == NOBODY, NOBODY, self.parents[at])
        return found


@dataclass(frozen=True)
class Phases:
    """Stretches of the training thread that have a phase's name."""

    names: tuple[str, ...] = ()
    starts_ns: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    ends_ns: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def at(self, instants_ns: Numbers, otherwise: str) -> Texts:
        """The phase at each instant: of several the one that began last."""
        distinct = (otherwise, *dict.fromkeys(self.names))
        numbers = np.zeros(len(instants_ns), dtype=np.int64)
        order = np.argsort(instants_ns, kind="stable")
        ordered = instants_ns[order]
        found = numbers[order]
        for place in np.lexsort((-self.ends_ns, self.starts_ns)).tolist():
            first, last = np.searchsorted(ordered, (self.starts_ns[place], self.ends_ns[place]))
            found[first:last] = distinct.index(self.names[place])
        numbers[order] = found
        return Texts(distinct, numbers)

    def extents(self, name: str) -> Extents:
        """What one phase covers."""
        mine = np.array([one == name for one in self.names], dtype=np.bool_)
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
