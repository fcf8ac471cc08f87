"""Sets of time intervals: union, intersection, difference and gaps."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Extents:
    """Sorted, disjoint, non-empty intervals with gaps between them; ends are exclusive."""

    starts_ns: IntArray
    ends_ns: IntArray

    @classmethod
    def of(cls, starts_ns: IntArray, ends_ns: IntArray) -> "Extents":
        """Return the union of intervals."""
        return cls(*_at_least(1, starts_ns, ends_ns))

    @classmethod
    def single(cls, start_ns: int, end_ns: int) -> "Extents":
        """Return one interval; no interval if it is empty."""
        return cls.of(np.array([start_ns]), np.array([end_ns]))

    def __len__(self) -> int:
        return len(self.starts_ns)

    @property
    def total_ns(self) -> int:
        """The total length of the intervals."""
        return int((self.ends_ns - self.starts_ns).sum())

    def __or__(self, extents: "Extents") -> "Extents":
        return Extents.of(*_joined(self, extents))

    def __and__(self, extents: "Extents") -> "Extents":
        return Extents(*_at_least(2, *_joined(self, extents)))

    def __sub__(self, extents: "Extents") -> "Extents":
        if not len(self):
            return self
        first, last = int(self.starts_ns[0]), int(self.ends_ns[-1])
        return self & extents.gaps(first, last)

    def gaps(self, start_ns: int, end_ns: int) -> "Extents":
        """Return the gaps between the intervals from one instant to another."""
        inside = self & Extents.single(start_ns, end_ns)
        starts = np.append(start_ns, inside.ends_ns).astype(np.int64)
        ends = np.append(inside.starts_ns, end_ns).astype(np.int64)
        return Extents.of(starts, ends)

    def covered_ns(self, starts_ns: IntArray, ends_ns: IntArray) -> IntArray:
        """Return how much of each given interval is covered."""
        return self._covered_until(ends_ns) - self._covered_until(starts_ns)

    def contains(self, instants_ns: IntArray) -> BoolArray:
        """Return which instants lie inside an interval."""
        if not len(self):
            return np.zeros(len(instants_ns), dtype=np.bool_)
        indices = np.searchsorted(self.starts_ns, instants_ns, side="right") - 1
        return np.asarray((indices >= 0) & (instants_ns < self.ends_ns[indices]))

    def _covered_until(self, instants_ns: IntArray) -> IntArray:
        if not len(self):
            return np.zeros(len(instants_ns), dtype=np.int64)
        lengths = self.ends_ns - self.starts_ns
        sums = np.append(0, np.cumsum(lengths))
        indices = np.searchsorted(self.starts_ns, instants_ns, side="right") - 1
        covered = np.minimum(instants_ns - self.starts_ns[indices], lengths[indices])
        return np.where(indices < 0, 0, sums[indices] + covered)


class SharedTime:
    """Divide time equally among concurrent intervals, so that shares add up to the covered time."""

    def __init__(self, starts_ns: IntArray, ends_ns: IntArray) -> None:
        times, depths = _depths(starts_ns, ends_ns)
        self._times = times
        # no interval is active before the first edge or after the last
        each = np.diff(times) / np.maximum(depths[:-1], 1) * (depths[:-1] > 0)
        self._passed = np.append(0.0, np.cumsum(each))

    def of(self, starts_ns: IntArray, ends_ns: IntArray) -> FloatArray:
        """Return the share of each interval in nanoseconds, counted as active all the time."""
        if not len(self._times):
            return np.zeros(len(starts_ns))
        return self._until(ends_ns) - self._until(starts_ns)

    def _until(self, instants_ns: IntArray) -> FloatArray:
        # relative to the first instant: clock values exceed the precision of floats
        first = self._times[0]
        passed = np.interp(instants_ns - first, self._times - first, self._passed)
        return np.asarray(passed, dtype=np.float64)


def _joined(extents: Extents, second: Extents) -> tuple[IntArray, IntArray]:
    return (
        np.concatenate([extents.starts_ns, second.starts_ns]),
        np.concatenate([extents.ends_ns, second.ends_ns]),
    )


def _depths(starts_ns: IntArray, ends_ns: IntArray) -> tuple[IntArray, IntArray]:
    """Return all edges in order, and the number of intervals that are active after each."""
    is_nonempty = ends_ns > starts_ns
    starts_ns, ends_ns = starts_ns[is_nonempty], ends_ns[is_nonempty]
    times = np.concatenate([starts_ns, ends_ns]).astype(np.int64)
    changes = np.repeat(np.array([1, -1], dtype=np.int64), len(starts_ns))
    order = np.lexsort((-changes, times))
    return times[order], np.cumsum(changes[order])


def _at_least(depth: int, starts_ns: IntArray, ends_ns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the intervals in which at least N intervals overlap."""
    times, depths = _depths(starts_ns, ends_ns)
    is_in = np.concatenate([[False], depths >= depth])
    starts, ends = times[is_in[1:] & ~is_in[:-1]], times[~is_in[1:] & is_in[:-1]]
    is_nonempty = ends > starts
    return starts[is_nonempty], ends[is_nonempty]
