"""Events of one lane sorted by time, with prefix sums: drawing a window costs only its pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray
from sonde.records.ranges import TimeRange
from sonde.web.intervals import Intervals, joined

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class VisibleLane:
    """The events of one lane that overlap a window."""

    count: int
    total_ns: int  # within the window
    wide: Intervals  # events drawn individually, unclipped, sorted by time
    cover: (
        Shares | None
    )  # share of each pixel that the remaining events cover; None if there are none


class _Run:
    """An immutable batch of events of one lane."""

    def __init__(self, intervals: Intervals) -> None:
        self.intervals = _sorted(intervals)
        self._starts_ns, ends_ns = self.intervals.starts_ns, self.intervals.ends_ns
        is_sorted = bool((ends_ns[1:] >= ends_ns[:-1]).all())  # the common case
        self._ends_ns = ends_ns if is_sorted else np.sort(ends_ns)
        self._latest_ns = ends_ns if is_sorted else np.maximum.accumulate(ends_ns)
        self._sums_of_starts = _sums(self._starts_ns)
        self._sums_of_ends = _sums(self._ends_ns)

    def __len__(self) -> int:
        return len(self._starts_ns)

    def count(self, start_ns: int, end_ns: int) -> int:
        """The number of events that overlap a window."""
        started = np.searchsorted(self._starts_ns, end_ns, "left")
        return int(started - np.searchsorted(self._ends_ns, start_ns, "right"))

    def longer(self, start_ns: int, end_ns: int, limit_ns: float) -> Intervals:
        """The events in a window that last longer than a limit."""
        first = int(np.searchsorted(self._latest_ns, start_ns, "right"))
        last = max(first, int(np.searchsorted(self._starts_ns, end_ns, "left")))
        ends_ns = self.intervals.ends_ns[first:last]
        is_long = ends_ns - self._starts_ns[first:last] > limit_ns
        return self.intervals.take(first + np.flatnonzero(is_long & (ends_ns > start_ns)))

    def covered_ns(self, until_ns: IntArray) -> IntArray:
        """The total time of all events up to some instants.

        Products and sums may overflow 64 bits, but wrap around consistently: the result is exact.
        """
        started = np.searchsorted(self._starts_ns, until_ns, "right")
        ended = np.searchsorted(self._ends_ns, until_ns, "right")
        since_start = started * until_ns - self._sums_of_starts[started]
        since_end = ended * until_ns - self._sums_of_ends[ended]
        return np.asarray(since_start - since_end)


class LaneIndex:
    """One growing lane of a worker: a large run for old events and smaller ones for new events."""

    def __init__(self) -> None:
        self._runs: tuple[_Run, ...] = ()  # replaced atomically: other threads may be reading

    def add(self, intervals: Intervals) -> None:
        """Add new events; runs of similar size are merged to keep their number small."""
        runs, batches = list(self._runs), [intervals]
        while runs and len(runs[-1]) < 2 * sum(len(batch.starts_ns) for batch in batches):
            batches.insert(0, runs.pop().intervals)
        self._runs = (*runs, _Run(_joined(batches)))

    def view(self, window: TimeRange, pixels: int, max_wide: int) -> VisibleLane:
        """The lane over a window: events wider than a pixel individually, up to a limit."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        pixel_ns = (end_ns - start_ns) / pixels
        runs = self._runs
        count = sum(run.count(start_ns, end_ns) for run in runs)
        wide = _sorted(_joined([run.longer(start_ns, end_ns, pixel_ns) for run in runs]))
        if len(wide.starts_ns) > max_wide:
            wide = wide.take(np.empty(0, dtype=np.intp))
        edges = start_ns + np.rint(np.arange(pixels + 1) * pixel_ns).astype(np.int64)
        covered = sum((run.covered_ns(edges) for run in runs), np.zeros_like(edges))
        total_ns = int(covered[-1] - covered[0])
        if count == len(wide.starts_ns):
            return VisibleLane(count, total_ns, wide, None)
        if len(wide.starts_ns):
            covered = covered - _Run(wide).covered_ns(edges)
        cover = np.clip(np.diff(covered) / np.maximum(1, np.diff(edges)), 0.0, 1.0)
        return VisibleLane(count, total_ns, wide, cover)


def _sorted(intervals: Intervals) -> Intervals:
    starts_ns = intervals.starts_ns
    if (starts_ns[1:] >= starts_ns[:-1]).all():
        return intervals
    return intervals.take(np.argsort(starts_ns, kind="stable"))


def _joined(batches: Sequence[Intervals]) -> Intervals:
    return batches[0] if len(batches) == 1 else joined(batches[0].lanes, batches)


def _sums(instants_ns: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(instants_ns, dtype=np.int64)])
