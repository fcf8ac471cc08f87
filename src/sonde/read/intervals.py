"""Exclusive time of overlapping intervals: every instant belongs to the interval that began last.

A collective inside a backward pass is the collective's time, not the backward pass's. So the
exclusive times of all intervals add up to the time that they cover, however they nest.
"""

import numpy as np

from sonde.records.arrays import IntArray
from sonde.records.ranges import EVER, TimeRange

_NO_OWNER = -1


def exclusive_time_ns(starts_ns: IntArray, ends_ns: IntArray, within: TimeRange = EVER) -> IntArray:
    """The time of each interval that is not covered by an interval that began later.

    Of two intervals that begin together, the shorter one is inside the other; of two equal ones,
    the last one counts. Time outside `within` does not count.
    """
    exclusive_ns = np.zeros(len(starts_ns), dtype=np.int64)
    if not len(starts_ns):
        return exclusive_ns
    by_start = np.argsort(starts_ns, kind="stable")
    if (ends_ns[by_start[:-1]] <= starts_ns[by_start[1:]]).all():  # no overlaps
        return _clipped(ends_ns, within) - _clipped(starts_ns, within)
    edges = np.sort(np.concatenate([starts_ns, ends_ns]))
    edges = edges[np.append(edges[1:] != edges[:-1], True)]
    firsts, lasts = np.searchsorted(edges, starts_ns), np.searchsorted(edges, ends_ns)
    owners = np.full(len(edges), _NO_OWNER, dtype=np.int64)
    order = np.lexsort((-lasts, firsts))
    # intervals that contain edges of others are painted in order; the rest cannot be covered
    for index in order[(lasts - firsts > 1)[order]].tolist():
        owners[firsts[index] : lasts[index]] = index
    plain = order[(lasts - firsts == 1)[order]]
    owners[firsts[plain]] = plain
    owned = np.flatnonzero(owners[:-1] != _NO_OWNER)
    np.add.at(exclusive_ns, owners[owned], np.diff(_clipped(edges, within))[owned])
    return exclusive_ns


def _clipped(instants_ns: IntArray, within: TimeRange) -> IntArray:
    """Instants clipped to a range."""
    if within == EVER:
        return instants_ns
    return np.asarray(np.clip(instants_ns, within.start_ns, within.end_ns))
