"""Profiles of one worker: windows, operations, and the steps and phases around them.

Operations have no step number: they belong to the steps and phases (events) of the same time.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.read.steps import MAIN_LANE
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import EventCategory, Mode
from sonde.store.format import EVENTS, OPERATIONS
from sonde.store.tables import to_numpy


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """A recorded profiling window: its kind, steps, time and cost."""

    kind: str
    start_ns: int
    end_ns: int
    first_step: int
    last_step: int
    by: str
    cost_seconds: float

    @property
    def extent(self) -> TimeRange:
        """The time range of the window."""
        return TimeRange(self.start_ns, self.end_ns)


@dataclass(frozen=True)
class Intervals:
    """Steps or phases of one worker in order of time, as columns."""

    names: tuple[str, ...]
    steps: IntArray
    starts_ns: IntArray
    ends_ns: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def at(self, instants_ns: IntArray) -> IntArray:
        """The index of the latest interval that contains each instant; -1 if there is none."""
        indices = np.searchsorted(self.starts_ns, instants_ns, side="right").astype(np.int64) - 1
        if not len(self):
            return indices
        while True:  # an interval that has ended may be inside one that has not
            is_over = (indices >= 0) & (self.ends_ns[np.maximum(indices, 0)] <= instants_ns)
            if not is_over.any():
                return indices
            indices[is_over] -= 1


def operations_of(
    reader: WorkerReader,
    within: TimeRange = EVER,
    columns: Sequence[str] | None = None,
    only: Mapping[str, Container[str]] | None = None,
) -> pa.Table:
    """The operations that began in a time range, in order.

    Args:
        reader: The worker.
        within: The time range.
        columns: The columns to read; all by default.
        only: Allowed texts by column, such as {"category": {"kernel"}}.
    """
    needed = None if columns is None else tuple(dict.fromkeys((*columns, "start_ns")))
    table = reader.folder(OPERATIONS).rows(within, ANY_STEP, needed, only)
    starts_ns = to_numpy(table["start_ns"])
    if len(starts_ns) > 1 and (np.diff(starts_ns) < 0).any():
        table = table.take(pa.array(np.argsort(starts_ns, kind="stable")))
    return table if columns is None else table.select(list(columns))


def windows_of(reader: WorkerReader, within: TimeRange = EVER) -> tuple[WindowRecord, ...]:
    """The windows of a worker that began in a time range, in order."""
    table = reader.folder(EVENTS).rows(
        within, ANY_STEP, None, {"category": {EventCategory.WINDOW.value}}
    )
    windows = []
    for row in table.to_pylist():
        facts = json.loads(row["detail"] or "{}")
        first, last = facts.get("steps") or (row["step"], row["step"])
        windows.append(
            WindowRecord(
                kind=row["name"],
                start_ns=row["start_ns"],
                end_ns=row["start_ns"] + row["duration_ns"],
                first_step=first,
                last_step=last,
                by=facts.get("by", ""),
                cost_seconds=facts.get("cost_seconds", 0.0),
            )
        )
    return tuple(sorted(windows, key=lambda window: window.start_ns))


def steps_of(
    reader: WorkerReader, within: TimeRange = EVER, steps: StepRange = ANY_STEP
) -> Intervals:
    """The training steps of a worker that began in a range."""
    return _intervals(reader, {EventCategory.STEP.value}, within, steps)


def phases_of(
    reader: WorkerReader, within: TimeRange = EVER, steps: StepRange = ANY_STEP
) -> Intervals:
    """The phases of its training steps that began in a range, including custom phases."""
    return _intervals(reader, {EventCategory.PHASE.value, EventCategory.USER.value}, within, steps)


def time_of_steps(reader: WorkerReader, steps: StepRange) -> TimeRange | None:
    """The time range of a range of training steps; None if there are none."""
    intervals = steps_of(reader, EVER, steps)
    if not len(intervals):
        return None
    return TimeRange(int(intervals.starts_ns.min()), int(intervals.ends_ns.max()))


def _intervals(
    reader: WorkerReader, categories: set[str], within: TimeRange, steps: StepRange
) -> Intervals:
    only = {"category": categories, "mode": {Mode.TRAIN.value}, "lane": {MAIN_LANE}}
    columns = ("name", "start_ns", "duration_ns", "step")
    table = reader.folder(EVENTS).rows(within, steps, columns, only)
    starts_ns, numbers = to_numpy(table["start_ns"]), to_numpy(table["step"])
    ends_ns = starts_ns + to_numpy(table["duration_ns"])
    is_current = reader.latest(ends_ns, numbers)
    order = np.flatnonzero(is_current)
    order = order[np.lexsort((-ends_ns[order], starts_ns[order]))]
    names = table["name"].to_pylist()
    return Intervals(
        tuple(names[row] for row in order.tolist()),
        numbers[order],
        starts_ns[order],
        ends_ns[order],
    )
