"""Slices that overlap without lying in each other, put side by side; and as few as a page shows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray

Shares = npt.NDArray[np.float64]


def side_by_side(starts_ns: IntArray, ends_ns: IntArray) -> IntArray:
    """The row that each slice goes into, from 0: in a row slices lie in each other, or apart.

    Args:
        starts_ns: In order; of those that begin together the longest first.
        ends_ns: When they end.
    """
    return _placed(starts_ns, ends_ns)[0]


@dataclass(frozen=True)
class Nested:
    """Slices of one track, and how they lie in each other."""

    lanes: IntArray  # in which each is drawn
    parents: IntArray  # the slice that each lies in, or -1


def nested(starts_ns: IntArray, ends_ns: IntArray) -> Nested:
    """The lane that each slice is drawn in, from 0, and the one that it lies in.

    In a lane none overlaps another, and what holds others is above them.

    Args:
        starts_ns: In order; of those that begin together the longest first.
        ends_ns: When they end.
    """
    if bool((starts_ns[1:] >= ends_ns[:-1]).all()):  # one after the other, as steps mostly are
        return Nested(np.zeros_like(starts_ns), np.full_like(starts_ns, -1))
    rows, depths, parents = _placed(starts_ns, ends_ns)
    deepest = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    np.maximum.at(deepest, rows, depths + 1)
    firsts = np.cumsum(deepest) - deepest
    return Nested(np.asarray(firsts[rows] + depths), parents)


def _placed(starts_ns: IntArray, ends_ns: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows, how many slices of its row each lies in, and the last of these."""
    # per row the ends and places of what is open there, the outermost first
    rows: list[list[tuple[int, int]]] = []
    zeros = np.zeros(len(starts_ns), dtype=np.int64)
    depths = np.zeros(len(starts_ns), dtype=np.int64)
    parents = np.full(len(starts_ns), -1, dtype=np.int64)
    for index, (start, end) in enumerate(zip(starts_ns.tolist(), ends_ns.tolist(), strict=True)):
        for number, open_ones in enumerate(rows):
            while open_ones and open_ones[-1][0] <= start:
                open_ones.pop()
            if not open_ones or end <= open_ones[-1][0]:
                depths[index] = len(open_ones)
                parents[index] = open_ones[-1][1] if open_ones else -1
                open_ones.append((end, index))
                zeros[index] = number
                break
        else:
            zeros[index] = len(rows)
            rows.append([(end, index)])
    return zeros, depths, parents


@dataclass(frozen=True)
class Pixels:
    """A time range, divided into columns of a chart."""

    start_ns: int
    end_ns: int
    count: int

    @property
    def width_ns(self) -> float:
        """How long one column is."""
        return (self.end_ns - self.start_ns) / self.count


@dataclass(frozen=True)
class Folded:
    """Slices of one track in a range: the wide ones, and how much the others cover."""

    wide: IntArray  # places of slices that are at least one column wide
    narrow: int  # how many are not
    covered: Shares  # by those, as (lane, column), from 0 to 1


def fold(starts_ns: IntArray, ends_ns: IntArray, lanes: IntArray, pixels: Pixels) -> Folded:
    """What of a track can be seen in a range: slices as such, or as the share that they cover."""
    is_seen = (ends_ns > pixels.start_ns) & (starts_ns < pixels.end_ns)
    is_wide = ends_ns - starts_ns >= pixels.width_ns
    narrow = np.flatnonzero(is_seen & ~is_wide)
    shape = (int(lanes.max()) + 1 if len(lanes) else 0, pixels.count)
    # none of these is longer than a column, so each lies in one or reaches into the next
    begin = np.maximum((starts_ns[narrow] - pixels.start_ns) / pixels.width_ns, 0.0)
    end = np.minimum((ends_ns[narrow] - pixels.start_ns) / pixels.width_ns, float(pixels.count))
    first = np.minimum(begin.astype(np.int64), pixels.count - 1)
    edge = np.minimum(end, first + 1.0)
    covered = np.zeros(shape[0] * shape[1])
    rows = lanes[narrow] * pixels.count
    np.add.at(covered, rows + first, edge - begin)
    np.add.at(covered, rows + np.minimum(first + 1, pixels.count - 1), end - edge)
    return Folded(
        np.flatnonzero(is_seen & is_wide),
        len(narrow),
        np.minimum(covered, 1.0).reshape(shape),
    )


@dataclass(frozen=True)
class Sums:
    """What slices of one name took in a range of time."""

    name: int
    count: int
    total_ns: int  # inside of the range
    self_ns: int  # likewise, less what lies in them
    longest_ns: int  # the whole of the longest one


@dataclass(frozen=True)
class Named:
    """Slices of one track with their names as numbers, in order of time."""

    names: IntArray
    starts_ns: IntArray
    ends_ns: IntArray
    parents: IntArray  # the slice that each lies in, or -1

    def sums(self, start_ns: int, end_ns: int) -> list[Sums]:
        """Exact sums over the slices that reach into a range, what took most itself first."""
        inside = np.minimum(self.ends_ns, end_ns) - np.maximum(self.starts_ns, start_ns)
        inside = np.maximum(inside, 0)
        covered = inside.copy()
        held = np.flatnonzero(self.parents >= 0)
        np.subtract.at(covered, self.parents[held], inside[held])
        count = np.flatnonzero((self.ends_ns > start_ns) & (self.starts_ns < end_ns))
        existing, indices = np.unique(self.names[count], return_inverse=True)
        counts = np.bincount(indices, minlength=len(existing))
        totals, selves, longest = (np.zeros(len(existing), dtype=np.int64) for _ in range(3))
        np.add.at(totals, indices, inside[count])
        np.add.at(selves, indices, covered[count])
        np.maximum.at(longest, indices, (self.ends_ns - self.starts_ns)[count])
        columns = (entry.tolist() for entry in (existing, counts, totals, selves, longest))
        results = [Sums(*row) for row in zip(*columns, strict=True)]
        return sorted(results, key=lambda result: (-result.self_ns, -result.total_ns, result.name))
