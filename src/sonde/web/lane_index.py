"""Stretches of each lane in order of time, with sums up to each: a window costs its pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.read.workers import Numbers
from sonde.records.ranges import TimeRange
from sonde.web.intervals import Stretches, joined

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class InSight:
    """What of one lane lies in a window or reaches into it."""

    count: int
    total_ns: int  # of what lies in the window
    wide: Stretches  # those drawn one by one, as long as they are, in order of time
    cover: Shares | None  # the share of each pixel that the others take; None where there are none


class _Run:
    """Some stretches of one lane: made once, never changed."""

    def __init__(self, stretches: Stretches) -> None:
        self.stretches = _in_turn(stretches)
        self._starts_ns, ends_ns = self.stretches.starts_ns, self.stretches.ends_ns
        is_sorted = bool((ends_ns[1:] >= ends_ns[:-1]).all())  # as it mostly is
        self._ends_ns = ends_ns if is_sorted else np.sort(ends_ns)
        self._latest_ns = ends_ns if is_sorted else np.maximum.accumulate(ends_ns)
        self._sums_of_starts = _sums(self._starts_ns)
        self._sums_of_ends = _sums(self._ends_ns)

    def __len__(self) -> int:
        return len(self._starts_ns)

    def count(self, start_ns: int, end_ns: int) -> int:
        """How many lie in a window or reach into it."""
        begun = np.searchsorted(self._starts_ns, end_ns, "left")
        return int(begun - np.searchsorted(self._ends_ns, start_ns, "right"))

    def longer(self, start_ns: int, end_ns: int, than_ns: float) -> Stretches:
        """Those in a window that last longer than something."""
        first = int(np.searchsorted(self._latest_ns, start_ns, "right"))
        last = max(first, int(np.searchsorted(self._starts_ns, end_ns, "left")))
        ends_ns = self.stretches.ends_ns[first:last]
        is_long = ends_ns - self._starts_ns[first:last] > than_ns
        return self.stretches.take(first + np.flatnonzero(is_long & (ends_ns > start_ns)))

    def taken_ns(self, until_ns: Numbers) -> Numbers:
        """How much all stretches together take until some instants.

        Products and sums may run over 64 bits, all by whole turns: what comes out is exact.
        """
        begun = np.searchsorted(self._starts_ns, until_ns, "right")
        ended = np.searchsorted(self._ends_ns, until_ns, "right")
        since_start = begun * until_ns - self._sums_of_starts[begun]
        since_end = ended * until_ns - self._sums_of_ends[ended]
        return np.asarray(since_start - since_end)


class LaneIndex:
    """One lane of a worker, which grows: a run for the old, smaller ones for what came since."""

    def __init__(self) -> None:
        self._runs: tuple[_Run, ...] = ()  # replaced as a whole: others may look meanwhile

    def add(self, stretches: Stretches) -> None:
        """What came since; runs of like size become one, so that there are never many."""
        runs, own = list(self._runs), [stretches]
        while runs and len(runs[-1]) < 2 * sum(len(one.starts_ns) for one in own):
            own.insert(0, runs.pop().stretches)
        self._runs = (*runs, _Run(_joined(own)))

    def look(self, window: TimeRange, pixels: int, most_wide: int) -> InSight:
        """The lane over a window; what is wider than a pixel one by one, unless it is too much."""
        start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
        pixel_ns = (end_ns - start_ns) / pixels
        runs = self._runs
        count = sum(run.count(start_ns, end_ns) for run in runs)
        wide = _in_turn(_joined([run.longer(start_ns, end_ns, pixel_ns) for run in runs]))
        if len(wide.starts_ns) > most_wide:
            wide = wide.take(np.empty(0, dtype=np.intp))
        edges = start_ns + np.rint(np.arange(pixels + 1) * pixel_ns).astype(np.int64)
        taken = sum((run.taken_ns(edges) for run in runs), np.zeros_like(edges))
        total_ns = int(taken[-1] - taken[0])
        if count == len(wide.starts_ns):
            return InSight(count, total_ns, wide, None)
        if len(wide.starts_ns):
            taken = taken - _Run(wide).taken_ns(edges)
        cover = np.clip(np.diff(taken) / np.maximum(1, np.diff(edges)), 0.0, 1.0)
        return InSight(count, total_ns, wide, cover)


def _in_turn(stretches: Stretches) -> Stretches:
    starts_ns = stretches.starts_ns
    if (starts_ns[1:] >= starts_ns[:-1]).all():
        return stretches
    return stretches.take(np.argsort(starts_ns, kind="stable"))


def _joined(parts: Sequence[Stretches]) -> Stretches:
    return parts[0] if len(parts) == 1 else joined(parts[0].lanes, parts)


def _sums(instants_ns: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(instants_ns, dtype=np.int64)])
