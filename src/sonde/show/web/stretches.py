"""The events of a worker as columns of numbers: what lanes and totals are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.read.workers import Numbers, WorkerReader
from sonde.records.ranges import TimeRange
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

MAIN_LANE = "main"
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_KINDS = (
    EventCategory.STEP.value,
    EventCategory.PHASE.value,
    EventCategory.USER.value,
    EventCategory.WINDOW.value,
)


@dataclass(frozen=True)
class Stretches:
    """Some events: what lane each is in (name and category), from when to when, of which step."""

    lanes: tuple[tuple[str, str], ...]  # category and name, by number
    numbers: npt.NDArray[np.int32]
    starts_ns: Numbers
    ends_ns: Numbers
    steps: Numbers

    def within(self, window: TimeRange) -> "Stretches":
        """Those that lie in a window, or reach into it; as long as they are."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        inside = (self.starts_ns < end_ns) & (self.ends_ns > start_ns)
        return self.take(np.flatnonzero(inside))

    def take(self, which: npt.NDArray[Any]) -> "Stretches":
        """Some of them."""
        return Stretches(
            self.lanes,
            self.numbers[which],
            self.starts_ns[which],
            self.ends_ns[which],
            self.steps[which],
        )


def read_stretches(reader: WorkerReader, within: TimeRange) -> Stretches:
    """Steps, phases, what the script names and windows of profilers, of the training thread.

    Of a step that was done in several lives all are there: each took its time.
    """
    only = {"category": _KINDS, "lane": (MAIN_LANE, "")}
    rows = reader.folder(EVENTS).rows(TimeRange(None, within.end_ns), columns=_COLUMNS, only=only)
    names, named = texts_of(rows["name"])
    kinds, of_kind = texts_of(rows["category"])
    both = of_kind.astype(np.int64) * max(1, len(names)) + named
    distinct, numbers = np.unique(both, return_inverse=True)
    lanes = tuple((kinds[one // len(names)], names[one % len(names)]) for one in distinct.tolist())
    starts_ns = to_numpy(rows["start_ns"])
    found = Stretches(
        lanes,
        numbers.astype(np.int32),
        starts_ns,
        starts_ns + to_numpy(rows["duration_ns"]),
        to_numpy(rows["step"]),
    )
    return found.within(within)
