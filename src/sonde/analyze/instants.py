"""Assign instants to time intervals, and compare samples inside and outside chosen intervals."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray, IntArray

OUTSIDE = -1


@dataclass(frozen=True)
class IntervalMeans:
    """Means of samples during chosen intervals and during the other intervals."""

    inside: float
    outside: float
    inside_count: int
    outside_count: int


def interval_indices(times_ns: IntArray, starts_ns: IntArray, ends_ns: IntArray) -> IntArray:
    """Return the index of the innermost interval around each instant, or OUTSIDE.

    Args:
        times_ns: The instants.
        starts_ns: Start times of the intervals, in ascending order.
        ends_ns: End times (exclusive).
    """
    if not len(starts_ns):
        return np.full(len(times_ns), OUTSIDE, dtype=np.int64)
    indices = np.searchsorted(starts_ns, times_ns, side="right") - 1
    enclosing: IntArray | None = None
    while (is_past := (indices != OUTSIDE) & (times_ns >= ends_ns[indices])).any():
        enclosing = _enclosing(ends_ns) if enclosing is None else enclosing
        indices[is_past] = enclosing[indices[is_past]]
    return indices


def compare_intervals(
    values: FloatArray, indices: IntArray, is_chosen: BoolArray
) -> IntervalMeans | None:
    """Compare samples during chosen intervals with the others; None if either side is empty.

    Args:
        values: The samples; NaN if unknown.
        indices: The interval of each sample, or OUTSIDE.
        is_chosen: One entry per interval.
    """
    is_known = ~np.isnan(values) & (indices != OUTSIDE)
    chosen = is_chosen[indices[is_known]]
    inside, outside = values[is_known][chosen], values[is_known][~chosen]
    if not len(inside) or not len(outside):
        return None
    return IntervalMeans(float(inside.mean()), float(outside.mean()), len(inside), len(outside))


def _enclosing(ends_ns: IntArray) -> IntArray:
    """Return, for each interval, the last earlier one that ends later, or OUTSIDE."""
    result = np.arange(len(ends_ns)) - 1
    while (is_shorter := (result != OUTSIDE) & (ends_ns[result] <= ends_ns)).any():
        result[is_shorter] = result[result[is_shorter]]
    return result
