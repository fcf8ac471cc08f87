"""What profilers recorded about one worker: its windows, its operations, its steps and phases.

Operations carry no step: they belong to the steps and phases of the same time, which are events.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.read.steps import MAIN_LANE
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import EventCategory, Mode
from sonde.store.format import EVENTS, OPERATIONS
from sonde.store.tables import to_numpy


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """A window as it was recorded: what looked at which steps, when, and what that cost."""

    kind: str
    start_ns: int
    end_ns: int
    first_step: int
    last_step: int
    by: str
    cost_seconds: float

    @property
    def extent(self) -> TimeRange:
        """From when to when it was open."""
        return TimeRange(self.start_ns, self.end_ns)


@dataclass(frozen=True)
class Stretches:
    """Steps or phases of one worker in order of time; all columns have one entry for each."""

    names: tuple[str, ...]
    steps: Numbers
    starts_ns: Numbers
    ends_ns: Numbers

    def __len__(self) -> int:
        return len(self.names)

    def at(self, instants_ns: Numbers) -> Numbers:
        """The place of the stretch that began last and is not over at each instant; -1 of none."""
        found = np.searchsorted(self.starts_ns, instants_ns, side="right").astype(np.int64) - 1
        if not len(self):
            return found
        while True:  # a stretch that is over may lie inside of one that is not
            is_over = (found >= 0) & (self.ends_ns[np.maximum(found, 0)] <= instants_ns)
            if not is_over.any():
                return found
            found[is_over] -= 1


def operations_of(
    reader: WorkerReader,
    within: TimeRange = EVER,
    columns: Sequence[str] | None = None,
    only: Mapping[str, Container[str]] | None = None,
) -> pa.Table:
    """The operations that began in a range of time, in order.

    Args:
        reader: The worker.
        within: When they began.
        columns: Which columns; all if not given.
        only: Texts that may stand in a column, such as {"category": {"kernel"}}.
    """
    wanted = None if columns is None else tuple(dict.fromkeys((*columns, "start_ns")))
    table = reader.folder(OPERATIONS).rows(within, ANY_STEP, wanted, only)
    starts_ns = to_numpy(table["start_ns"])
    if len(starts_ns) > 1 and (np.diff(starts_ns) < 0).any():
        table = table.take(pa.array(np.argsort(starts_ns, kind="stable")))
    return table if columns is None else table.select(list(columns))


def windows_of(reader: WorkerReader, within: TimeRange = EVER) -> tuple[WindowRecord, ...]:
    """The windows of a worker that began in a range of time, in order."""
    table = reader.folder(EVENTS).rows(
        within, ANY_STEP, None, {"category": {EventCategory.WINDOW.value}}
    )
    found = []
    for row in table.to_pylist():
        facts = json.loads(row["detail"] or "{}")
        first, last = facts.get("steps") or (row["step"], row["step"])
        found.append(
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
    return tuple(sorted(found, key=lambda one: one.start_ns))


def steps_of(
    reader: WorkerReader, within: TimeRange = EVER, steps: StepRange = ANY_STEP
) -> Stretches:
    """The training steps of a worker that began in a range."""
    return _stretches(reader, {EventCategory.STEP.value}, within, steps)


def phases_of(
    reader: WorkerReader, within: TimeRange = EVER, steps: StepRange = ANY_STEP
) -> Stretches:
    """The phases of its training steps that began in a range, those the script names included."""
    return _stretches(reader, {EventCategory.PHASE.value, EventCategory.USER.value}, within, steps)


def time_of_steps(reader: WorkerReader, steps: StepRange) -> TimeRange | None:
    """From the beginning of the first to the end of the last of some training steps, if any."""
    found = steps_of(reader, EVER, steps)
    if not len(found):
        return None
    return TimeRange(int(found.starts_ns.min()), int(found.ends_ns.max()))


def _stretches(
    reader: WorkerReader, categories: set[str], within: TimeRange, steps: StepRange
) -> Stretches:
    only = {"category": categories, "mode": {Mode.TRAIN.value}, "lane": {MAIN_LANE}}
    columns = ("name", "start_ns", "duration_ns", "step")
    table = reader.folder(EVENTS).rows(within, steps, columns, only)
    starts_ns, numbers = to_numpy(table["start_ns"]), to_numpy(table["step"])
    ends_ns = starts_ns + to_numpy(table["duration_ns"])
    stands = reader.latest(ends_ns, numbers)
    order = np.flatnonzero(stands)
    order = order[np.lexsort((-ends_ns[order], starts_ns[order]))]
    names = table["name"].to_pylist()
    return Stretches(
        tuple(names[place] for place in order.tolist()),
        numbers[order],
        starts_ns[order],
        ends_ns[order],
    )
