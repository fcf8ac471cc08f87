"""Lay out the slices of a track in rows and lanes, and reduce them to what a chart can show."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray

_MAX_DOMINANT_NAMES = 16  # each costs one more pass over the slices

ShareMatrix = npt.NDArray[np.float64]


def row_of_slices(starts_ns: IntArray, ends_ns: IntArray) -> IntArray:
    """Return the row of each slice, from 0: slices that overlap without nesting get different rows.

    Args:
        starts_ns: Start times in ascending order; of equal ones, the longest slice first.
        ends_ns: End times.
    """
    return _nest(starts_ns, ends_ns)[0]


@dataclass(frozen=True)
class TrackLayout:
    """How the slices of one track are drawn and nested."""

    lanes: IntArray  # in which each slice is drawn
    parents: IntArray  # index of the innermost enclosing slice, or -1


def lay_out_track(starts_ns: IntArray, ends_ns: IntArray) -> TrackLayout:
    """Return the lane of each slice, from 0, and its parent.

    Slices of a lane do not overlap, and a slice is drawn above the slices nested in it.

    Args:
        starts_ns: Start times in ascending order; of equal ones, the longest slice first.
        ends_ns: End times.
    """
    if bool((starts_ns[1:] >= ends_ns[:-1]).all()):  # sequential, like most steps
        return TrackLayout(np.zeros_like(starts_ns), np.full_like(starts_ns, -1))
    rows, depths, parents = _nest(starts_ns, ends_ns)
    lane_counts = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    np.maximum.at(lane_counts, rows, depths + 1)
    first_lanes = np.cumsum(lane_counts) - lane_counts
    return TrackLayout(np.asarray(first_lanes[rows] + depths), parents)


def _nest(starts_ns: IntArray, ends_ns: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the row, nesting depth within the row, and parent of each slice."""
    # per row: end and index of its open slices, outermost first
    stacks: list[list[tuple[int, int]]] = []
    rows = np.zeros(len(starts_ns), dtype=np.int64)
    depths = np.zeros(len(starts_ns), dtype=np.int64)
    parents = np.full(len(starts_ns), -1, dtype=np.int64)
    for index, (start, end) in enumerate(zip(starts_ns.tolist(), ends_ns.tolist(), strict=True)):
        for row, stack in enumerate(stacks):
            while stack and stack[-1][0] <= start:
                stack.pop()
            if not stack or end <= stack[-1][0]:
                depths[index] = len(stack)
                parents[index] = stack[-1][1] if stack else -1
                stack.append((end, index))
                rows[index] = row
                break
        else:
            rows[index] = len(stacks)
            stacks.append([(end, index)])
    return rows, depths, parents


@dataclass(frozen=True)
class Pixels:
    """A time range divided into the pixel columns of a chart."""

    start_ns: int
    end_ns: int
    count: int

    @property
    def width_ns(self) -> float:
        """The duration of one column."""
        return (self.end_ns - self.start_ns) / self.count


@dataclass(frozen=True)
class FoldedTrack:
    """The slices of a track in a time range: wide slices, and coverage by narrow ones."""

    wide: IntArray  # indices of slices at least one column wide
    narrow: int  # number of narrower slices
    covered: ShareMatrix  # share of each cell covered by narrow slices, as (lane, column)


def fold(starts_ns: IntArray, ends_ns: IntArray, lanes: IntArray, pixels: Pixels) -> FoldedTrack:
    """Split the visible slices into wide ones and the coverage by narrow ones."""
    is_visible = (ends_ns > pixels.start_ns) & (starts_ns < pixels.end_ns)
    is_wide = ends_ns - starts_ns >= pixels.width_ns
    narrow = np.flatnonzero(is_visible & ~is_wide)
    covered = _coverage(starts_ns, ends_ns, lanes, pixels, narrow)
    return FoldedTrack(np.flatnonzero(is_visible & is_wide), len(narrow), np.minimum(covered, 1.0))


def dominant_names(
    starts_ns: IntArray, ends_ns: IntArray, lanes: IntArray, names: IntArray, pixels: Pixels
) -> IntArray | None:
    """The name that covers most of each cell, as (lane, column), or -1 without narrow slices.

    None if there are too many different names to compare.
    """
    is_visible = (ends_ns > pixels.start_ns) & (starts_ns < pixels.end_ns)
    narrow = np.flatnonzero(is_visible & (ends_ns - starts_ns < pixels.width_ns))
    distinct = np.unique(names[narrow])
    if not 0 < len(distinct) <= _MAX_DOMINANT_NAMES:
        return None
    covered = np.array(
        [
            _coverage(starts_ns, ends_ns, lanes, pixels, narrow[names[narrow] == name])
            for name in distinct
        ]
    )
    is_covered = covered.max(axis=0) > 0
    return np.where(is_covered, distinct[covered.argmax(axis=0)], -1).astype(np.int64)


def _coverage(
    starts_ns: IntArray, ends_ns: IntArray, lanes: IntArray, pixels: Pixels, narrow: IntArray
) -> ShareMatrix:
    """The share of each cell that narrow slices cover, as (lane, column)."""
    shape = (int(lanes.max()) + 1 if len(lanes) else 0, pixels.count)
    # a narrow slice is shorter than a column, so it covers parts of two columns at most
    begin = np.maximum((starts_ns[narrow] - pixels.start_ns) / pixels.width_ns, 0.0)
    end = np.minimum((ends_ns[narrow] - pixels.start_ns) / pixels.width_ns, float(pixels.count))
    first = np.minimum(begin.astype(np.int64), pixels.count - 1)
    edge = np.minimum(end, first + 1.0)
    covered = np.zeros(shape[0] * shape[1])
    rows = lanes[narrow] * pixels.count
    np.add.at(covered, rows + first, edge - begin)
    np.add.at(covered, rows + np.minimum(first + 1, pixels.count - 1), end - edge)
    return covered.reshape(shape)


@dataclass(frozen=True)
class SliceTotals:
    """Total times of the slices with one name in a time range."""

    name: int
    count: int
    total_ns: int  # within the range
    self_ns: int  # within the range, without nested slices
    longest_ns: int  # full duration of the longest slice


@dataclass(frozen=True)
class NamedSlices:
    """The slices of one track, sorted by time, with their names as numbers."""

    names: IntArray
    starts_ns: IntArray
    ends_ns: IntArray
    parents: IntArray  # index of the innermost enclosing slice, or -1

    def totals(self, start_ns: int, end_ns: int) -> list[SliceTotals]:
        """Return totals per name for a range, largest self time first."""
        inside = np.minimum(self.ends_ns, end_ns) - np.maximum(self.starts_ns, start_ns)
        inside = np.maximum(inside, 0)
        self_times = inside.copy()
        nested = np.flatnonzero(self.parents >= 0)
        np.subtract.at(self_times, self.parents[nested], inside[nested])
        visible = np.flatnonzero((self.ends_ns > start_ns) & (self.starts_ns < end_ns))
        names, indices = np.unique(self.names[visible], return_inverse=True)
        counts = np.bincount(indices, minlength=len(names))
        totals, selves, longest = (np.zeros(len(names), dtype=np.int64) for _ in range(3))
        np.add.at(totals, indices, inside[visible])
        np.add.at(selves, indices, self_times[visible])
        np.maximum.at(longest, indices, (self.ends_ns - self.starts_ns)[visible])
        columns = (column.tolist() for column in (names, counts, totals, selves, longest))
        results = [SliceTotals(*row) for row in zip(*columns, strict=True)]
        return sorted(results, key=lambda result: (-result.self_ns, -result.total_ns, result.name))
