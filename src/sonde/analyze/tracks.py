"""Slices that overlap without lying in each other, put side by side; and as few as a page shows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


def side_by_side(starts_ns: Numbers, ends_ns: Numbers) -> Numbers:
    """The row that each slice goes into, from 0: in a row slices lie in each other, or apart.

    Args:
        starts_ns: In order; of those that begin together the longest first.
        ends_ns: When they end.
    """
    return _placed(starts_ns, ends_ns)[0]


def lanes_of(starts_ns: Numbers, ends_ns: Numbers) -> Numbers:
    """The lane that each slice is drawn in, from 0: none overlaps another, what holds is above.

    Args:
        starts_ns: In order; of those that begin together the longest first.
        ends_ns: When they end.
    """
    rows, depths = _placed(starts_ns, ends_ns)
    if not len(rows):
        return rows
    deepest = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    np.maximum.at(deepest, rows, depths + 1)
    firsts = np.cumsum(deepest) - deepest
    return np.asarray(firsts[rows] + depths)


def _placed(starts_ns: Numbers, ends_ns: Numbers) -> tuple[Numbers, Numbers]:
    """Rows, and how many slices of its row each lies in."""
    rows: list[list[int]] = []  # per row the ends of what is open there, the outermost first
    found = np.zeros(len(starts_ns), dtype=np.int64)
    depths = np.zeros(len(starts_ns), dtype=np.int64)
    for place, (start, end) in enumerate(zip(starts_ns.tolist(), ends_ns.tolist(), strict=True)):
        for number, open_ends in enumerate(rows):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if not open_ends or end <= open_ends[-1]:
                depths[place] = len(open_ends)
                open_ends.append(end)
                found[place] = number
                break
        else:
            found[place] = len(rows)
            rows.append([end])
    return found, depths


@dataclass(frozen=True)
class Pixels:
    """A range of time as so many columns of a picture."""

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

    wide: Numbers  # places of slices that are at least one column wide
    narrow: int  # how many are not
    covered: Shares  # by those, as (lane, column), from 0 to 1


def fold(starts_ns: Numbers, ends_ns: Numbers, lanes: Numbers, pixels: Pixels) -> Folded:
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
    longest_ns: int  # the whole of the longest one


def sums_by_name(
    names: Numbers, starts_ns: Numbers, ends_ns: Numbers, within: tuple[int, int]
) -> list[Sums]:
    """Exact sums over the slices that reach into a range, what took most first."""
    start_ns, end_ns = within
    seen = np.flatnonzero((ends_ns > start_ns) & (starts_ns < end_ns))
    inside = np.minimum(ends_ns[seen], end_ns) - np.maximum(starts_ns[seen], start_ns)
    known, places = np.unique(names[seen], return_inverse=True)
    counts = np.bincount(places, minlength=len(known))
    totals = np.zeros(len(known), dtype=np.int64)
    longest = np.zeros(len(known), dtype=np.int64)
    np.add.at(totals, places, inside)
    np.maximum.at(longest, places, ends_ns[seen] - starts_ns[seen])
    rows = zip(known.tolist(), counts.tolist(), totals.tolist(), longest.tolist(), strict=True)
    return sorted((Sums(*row) for row in rows), key=lambda one: (-one.total_ns, one.name))
