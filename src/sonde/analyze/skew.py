"""How far the clocks of two nodes are apart, from what their workers did together.

No worker leaves a collective before the last one has entered it. So every one of them bounds the
offset of one clock against the other, whatever the network does; and those who leave together do so
within the time that the exchange itself took, which the last one to enter measures alone.
"""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, IntArray

_MIN_MEETINGS = 3  # fewer meetings say nothing
_QUICKEST = 64  # the meetings that say most


@dataclass(frozen=True)
class Offset:
    """What a node's clock shows more than the one it is compared with."""

    offset_ns: int
    error_ns: int
    meetings: int  # how many it was estimated from


@dataclass(frozen=True)
class Meetings:
    """What the workers of two nodes did together: per meeting, when each side came and left."""

    came_ns: IntArray  # by the reference's clock: the last of its workers
    left_ns: IntArray  # the first of them
    other_came_ns: IntArray
    other_left_ns: IntArray

    def __len__(self) -> int:
        return len(self.came_ns)

    @property
    def exchange_ns(self) -> IntArray:
        """At most what the exchange itself took: the shorter stay, which each clock tells alone."""
        here, there = self.left_ns - self.came_ns, self.other_left_ns - self.other_came_ns
        return np.asarray(np.maximum(np.minimum(here, there), 0))

    def take(self, which: IntArray | BoolArray) -> "Meetings":
        """Some of them."""
        return Meetings(
            self.came_ns[which],
            self.left_ns[which],
            self.other_came_ns[which],
            self.other_left_ns[which],
        )


def offset_from_meetings(meetings: Meetings) -> Offset | None:
    """The offset of the other node's clock, or None where they met too seldom."""
    if len(meetings) < _MIN_MEETINGS:
        return None
    quickest = np.argsort(meetings.exchange_ns, kind="stable")[:_QUICKEST]
    quick = meetings.take(quickest)
    apart_ns = quick.other_left_ns - quick.left_ns
    middle = float(np.median(apart_ns))
    error = max(float(np.median(quick.exchange_ns)), _spread(apart_ns))
    lowest = int((meetings.other_came_ns - meetings.left_ns).max())
    highest = int((meetings.other_left_ns - meetings.came_ns).min())
    if lowest <= highest:  # else the clocks drift, and no one offset is right for all
        middle = min(max(middle, lowest), highest)
        error = min(error, max(highest - middle, middle - lowest))
    return Offset(round(middle), max(1, round(error)), len(meetings))


def offset_from_ends(ends_ns: IntArray, other_ends_ns: IntArray) -> Offset | None:
    """The offset from steps that the workers of both nodes end at about the same time.

    The error is how much the single steps disagree; a worker that is always later by the same time
    cannot be told from a clock.
    """
    if len(ends_ns) < _MIN_MEETINGS:
        return None
    apart_ns = other_ends_ns - ends_ns
    return Offset(round(float(np.median(apart_ns))), max(1, round(_spread(apart_ns))), len(ends_ns))


def _spread(values: IntArray) -> float:
    low, high = np.percentile(values, (10, 90))
    return float(high - low) / 2
