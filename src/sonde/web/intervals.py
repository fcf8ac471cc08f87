"""The events of a worker as columns of numbers, read once: what lanes and totals are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.read.intervals import own_time_ns
from sonde.read.workers import Numbers
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
class Stretches:
    """Some events: the number of its lane, from when to when, and of which step each is."""

    lanes: tuple[Lane, ...]
    numbers: npt.NDArray[np.int32]
    starts_ns: Numbers
    ends_ns: Numbers
    steps: Numbers

    def within(self, window: TimeRange) -> "Stretches":
        """Those that lie in a window or reach into it, as long as they are."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        return self.take(np.flatnonzero((self.starts_ns < end_ns) & (self.ends_ns > start_ns)))

    def clipped(self, window: TimeRange) -> "Stretches":
        """What of them lies in a window."""
        own = self.within(window)
        starts_ns = np.maximum(own.starts_ns, window.start_ns or 0)
        ends_ns = np.minimum(own.ends_ns, window.end_ns or 0)
        return replace(own, starts_ns=starts_ns, ends_ns=ends_ns)

    def of(self, *categories: str, mode: str | None = None) -> "Stretches":
        """Those of some kinds, and of one mode if it is named."""
        wanted = [one.category in categories and mode in (None, one.mode) for one in self.lanes]
        return self.take(np.flatnonzero(np.array([*wanted, False])[self.numbers]))

    def take(self, which: npt.NDArray[Any]) -> "Stretches":
        """Some of them."""
        return Stretches(
            self.lanes,
            self.numbers[which],
            self.starts_ns[which],
            self.ends_ns[which],
            self.steps[which],
        )

    def own_ns(self, window: TimeRange) -> Numbers:
        """How much of each lies in a window and is its own: not covered by one that began later."""
        return own_time_ns(self.starts_ns, self.ends_ns, window)


def joined(lanes: tuple[Lane, ...], parts: Sequence[Stretches]) -> Stretches:
    """Events of the same lanes, one part after the other."""
    return Stretches(
        lanes,
        np.concatenate([one.numbers for one in parts]),
        np.concatenate([one.starts_ns for one in parts]),
        np.concatenate([one.ends_ns for one in parts]),
        np.concatenate([one.steps for one in parts]),
    )
