"""Estimate the clock offset between two nodes from their common collectives.

A meeting is a collective with workers of both nodes. No worker leaves a collective before the last
one has entered it. So each meeting bounds the offset of the clocks, independent of the network.
All workers leave within the duration of the exchange, which the last worker to enter measures on
its own clock.
"""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, IntArray

_MIN_MEETINGS = 3
_MAX_MEETINGS = 64  # the shortest meetings give the most accurate offsets


@dataclass(frozen=True)
class Offset:
    """How far a node's clock is ahead of the reference clock."""

    offset_ns: int
    error_ns: int
    meetings: int  # number of meetings used


@dataclass(frozen=True)
class Meetings:
    """Meetings of two nodes: when the workers of each node entered and left."""

    entered_ns: IntArray  # last entry of a worker of the reference node, on its clock
    left_ns: IntArray  # first exit of a worker of the reference node
    other_entered_ns: IntArray
    other_left_ns: IntArray

    def __len__(self) -> int:
        return len(self.entered_ns)

    @property
    def exchange_ns(self) -> IntArray:
        """An upper bound of the exchange time: the shorter stay, each measured on one clock."""
        here, there = self.left_ns - self.entered_ns, self.other_left_ns - self.other_entered_ns
        return np.asarray(np.maximum(np.minimum(here, there), 0))

    def take(self, which: IntArray | BoolArray) -> "Meetings":
        """Return the selected meetings."""
        return Meetings(
            self.entered_ns[which],
            self.left_ns[which],
            self.other_entered_ns[which],
            self.other_left_ns[which],
        )


def offset_from_meetings(meetings: Meetings) -> Offset | None:
    """Return the offset of the other node's clock, or None if there are too few meetings."""
    if len(meetings) < _MIN_MEETINGS:
        return None
    shortest = np.argsort(meetings.exchange_ns, kind="stable")[:_MAX_MEETINGS]
    selected = meetings.take(shortest)
    offsets_ns = selected.other_left_ns - selected.left_ns
    offset = float(np.median(offsets_ns))
    error = max(float(np.median(selected.exchange_ns)), _spread(offsets_ns))
    lowest = int((meetings.other_entered_ns - meetings.left_ns).max())
    highest = int((meetings.other_left_ns - meetings.entered_ns).min())
    if lowest <= highest:  # otherwise the clocks drift, and no single offset fits all meetings
        offset = min(max(offset, lowest), highest)
        error = min(error, max(highest - offset, offset - lowest))
    return Offset(round(offset), max(1, round(error)), len(meetings))


def offset_from_ends(ends_ns: IntArray, other_ends_ns: IntArray) -> Offset | None:
    """Estimate the offset from steps, which workers of both nodes end at about the same time.

    The error is the spread between steps. A worker that is always late by the same time looks
    like a clock offset.
    """
    if len(ends_ns) < _MIN_MEETINGS:
        return None
    offsets_ns = other_ends_ns - ends_ns
    offset, error = float(np.median(offsets_ns)), _spread(offsets_ns)
    return Offset(round(offset), max(1, round(error)), len(ends_ns))


def _spread(values: IntArray) -> float:
    low, high = np.percentile(values, (10, 90))
    return float(high - low) / 2
