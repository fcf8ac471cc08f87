"""What was the case at some instants: the stretch they lie in, and what was measured then."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray, IntArray

OUTSIDE = -1


@dataclass(frozen=True)
class Meanwhile:
    """The mean of what was measured during some stretches and during the others."""

    inside: float
    outside: float
    inside_count: int
    outside_count: int


def place_of(times_ns: IntArray, starts_ns: IntArray, ends_ns: IntArray) -> IntArray:
    """The interval of each instant: the one that started last; OUTSIDE if there is none.

    Args:
        times_ns: The instants.
        starts_ns: When the intervals start, in order.
        ends_ns: When they end (exclusive).
    """
    if not len(starts_ns):
        return np.full(len(times_ns), OUTSIDE, dtype=np.int64)
    indices = np.searchsorted(starts_ns, times_ns, side="right") - 1
    around: IntArray | None = None
    while (is_past := (indices != OUTSIDE) & (times_ns >= ends_ns[indices])).any():
        around = _around(ends_ns) if around is None else around
        indices[is_past] = around[indices[is_past]]
    return indices


def meanwhile(values: FloatArray, indices: IntArray, is_chosen: BoolArray) -> Meanwhile | None:
    """Values during chosen intervals and during the others; None if either is empty.

    Args:
        values: NaN is unknown.
        indices: The interval of each value, or OUTSIDE.
        is_chosen: Per interval.
    """
    is_known = ~np.isnan(values) & (indices != OUTSIDE)
    chosen = is_chosen[indices[is_known]]
    inside, outside = values[is_known][chosen], values[is_known][~chosen]
    if not len(inside) or not len(outside):
        return None
    return Meanwhile(float(inside.mean()), float(outside.mean()), len(inside), len(outside))


def _around(ends_ns: IntArray) -> IntArray:
    """Of each stretch the last one before it that ends later: what is left once it has ended."""
    result = np.arange(len(ends_ns)) - 1
    while (is_over := (result != OUTSIDE) & (ends_ns[result] <= ends_ns)).any():
        result[is_over] = result[result[is_over]]
    return result
