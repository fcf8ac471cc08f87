"""Nesting of operations on a lane, and their self times.

Every instant of a lane belongs to the running operation that began last. So self times add up to
the time covered by all operations, even if two overlap without nesting, as kernels of one stream
may do.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray

NO_PARENT = -1


def nest(
    lanes: npt.NDArray[np.int32], starts: IntArray, durations: IntArray
) -> tuple[IntArray, IntArray]:
    """The parent and the self time of each operation.

    Args:
        lanes: The lane index of each operation.
        starts: Its start.
        durations: Its duration, not negative.

    Returns:
        The index of its parent or NO_PARENT, and its self time.
    """
    parents = np.full(len(starts), NO_PARENT, dtype=np.int64)
    self_times = durations.copy()
    order = _in_order(lanes, starts, durations)
    edges = np.flatnonzero(np.diff(lanes[order])) + 1
    for first, last in pairwise((0, *edges.tolist(), len(order))):
        rows = order[first:last]
        inside, lane_self_times = _nest_lane(starts[rows], durations[rows])
        is_inside = inside != NO_PARENT
        parents[rows[is_inside]] = rows[inside[is_inside]]
        self_times[rows] = lane_self_times
    return parents, self_times


def _in_order(lanes: npt.NDArray[np.int32], starts: IntArray, durations: IntArray) -> IntArray:
    """Sort by lane, start and descending duration; only the few ties are sorted again."""
    order = np.argsort(starts, kind="stable")
    order = order[np.argsort(lanes[order], kind="stable")]
    is_next = (np.diff(starts[order]) == 0) & (np.diff(lanes[order]) == 0)
    is_tied = np.zeros(len(order), dtype=np.bool_)
    is_tied[:-1] |= is_next
    is_tied[1:] |= is_next
    ties = order[is_tied]
    order[is_tied] = ties[np.lexsort((-durations[ties], starts[ties], lanes[ties]))]
    return order


def _nest_lane(starts: IntArray, durations: IntArray) -> tuple[IntArray, IntArray]:
    """Nest the operations of one lane, sorted so that parents come first."""
    ends = starts + durations
    # an operation without a duration has no children
    has_time = durations > 0
    closed = np.searchsorted(np.sort(ends[has_time]), starts, side="right")
    depths: IntArray = np.cumsum(has_time) - has_time - closed
    parents = _last_of_level_above(depths)
    has_parent = parents != NO_PARENT
    is_crossing = np.zeros(len(starts), dtype=np.bool_)
    is_crossing[has_parent] = ends[has_parent] > ends[parents[has_parent]]
    inner = np.bincount(parents[has_parent], weights=durations[has_parent], minlength=len(starts))
    self_times = durations - inner.astype(np.int64)
    if is_crossing.any():
        groups = np.cumsum(depths == 0)
        has_crossing = np.zeros(groups[-1] + 1, dtype=np.bool_)
        has_crossing[groups[is_crossing]] = True
        rows = np.flatnonzero(has_crossing[groups])
        inside, self_times[rows] = _nest_crossing(starts[rows], ends[rows])
        parents[rows] = np.where(inside == NO_PARENT, NO_PARENT, rows[inside])
    return parents, self_times


def _last_of_level_above(depths: IntArray) -> IntArray:
    """The latest earlier operation that is one level higher, for each operation."""
    parents = np.full(len(depths), NO_PARENT, dtype=np.int64)
    by_depth = np.argsort(depths, kind="stable")
    edges = np.searchsorted(depths[by_depth], np.arange(depths.max(initial=0) + 2)).tolist()
    for (above, level), (_, end) in pairwise(pairwise(edges)):
        outer, inner = by_depth[above:level], by_depth[level:end]
        parents[inner] = outer[np.searchsorted(outer, inner) - 1]
    return parents


def _nest_crossing(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Nest overlapping operations one by one."""
    parents, self_times = [NO_PARENT] * len(starts), [0] * len(starts)
    stops = ends.tolist()
    opened: list[int] = []
    now = 0

    def close_until(moment: int) -> None:
        """Assign the time until a moment to the open operations."""
        nonlocal now
        while opened:
            latest = opened[-1]
            if stops[latest] > moment:
                self_times[latest] += moment - now
                break
            self_times[latest] += max(0, stops[latest] - now)
            now = max(now, stops[latest])
            opened.pop()
        now = moment

    for index, start in enumerate(starts.tolist()):
        close_until(start)
        if opened:
            parents[index] = opened[-1]
        opened.append(index)
    close_until(int(ends.max()))
    return np.array(parents, dtype=np.int64), np.array(self_times, dtype=np.int64)
