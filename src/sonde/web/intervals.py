"""The events of a worker as numeric columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.read.intervals import exclusive_time_ns
from sonde.records.arrays import IntArray
from sonde.records.ranges import TimeRange
from sonde.records.step import EventCategory

STEP, PHASE, USER = (
    EventCategory.STEP.value,
    EventCategory.PHASE.value,
    EventCategory.USER.value,
)


@dataclass(frozen=True, order=True, slots=True)
class Lane:
    """Events of one kind, name and mode."""

    category: str
    name: str
    mode: str


@dataclass(frozen=True)
class Intervals:
    """Events as columns: lane number, start, end and step."""

    lanes: tuple[Lane, ...]
    numbers: npt.NDArray[np.int32]
    starts_ns: IntArray
    ends_ns: IntArray
    steps: IntArray

    def within(self, window: TimeRange) -> "Intervals":
        """The events that overlap a window, unclipped."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        return self.take(np.flatnonzero((self.starts_ns < end_ns) & (self.ends_ns > start_ns)))

    def clipped(self, window: TimeRange) -> "Intervals":
        """The events that overlap a window, clipped to it."""
        overlapping = self.within(window)
        starts_ns = np.maximum(overlapping.starts_ns, window.start_ns or 0)
        ends_ns = np.minimum(overlapping.ends_ns, window.end_ns or 0)
        return replace(overlapping, starts_ns=starts_ns, ends_ns=ends_ns)

    def of(self, *categories: str, mode: str | None = None) -> "Intervals":
        """The events of some categories, optionally of one mode."""
        is_match = [
            lane.category in categories and mode in (None, lane.mode) for lane in self.lanes
        ]
        return self.take(np.flatnonzero(np.array([*is_match, False])[self.numbers]))

    def take(self, which: npt.NDArray[Any]) -> "Intervals":
        """A selection of the events."""
        return Intervals(
            self.lanes,
            self.numbers[which],
            self.starts_ns[which],
            self.ends_ns[which],
            self.steps[which],
        )

    def own_ns(self, window: TimeRange) -> IntArray:
        """The time of each event within a window that no later event covers."""
        return exclusive_time_ns(self.starts_ns, self.ends_ns, window)


def joined(lanes: tuple[Lane, ...], chunks: Sequence[Intervals]) -> Intervals:
    """Concatenate events that share the same lanes."""
    return Intervals(
        lanes,
        np.concatenate([chunk.numbers for chunk in chunks]),
        np.concatenate([chunk.starts_ns for chunk in chunks]),
        np.concatenate([chunk.ends_ns for chunk in chunks]),
        np.concatenate([chunk.steps for chunk in chunks]),
    )
