"""What was the case at some instants: the stretch they lie in, and what was measured then."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Marks = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

OUTSIDE = -1


@dataclass(frozen=True)
class Meanwhile:
    """The mean of what was measured during some stretches and during the others."""

    inside: float
    outside: float
    inside_count: int
    outside_count: int


def place_of(times_ns: Numbers, starts_ns: Numbers, ends_ns: Numbers) -> Numbers:
    """The stretch that each instant lies in: the one that began last; OUTSIDE where in none.

    Args:
        times_ns: The instants.
        starts_ns: When the stretches begin, in order.
        ends_ns: When they end; not included.
    """
    if not len(starts_ns):
        return np.full(len(times_ns), OUTSIDE, dtype=np.int64)
    places = np.searchsorted(starts_ns, times_ns, side="right") - 1
    around: Numbers | None = None
    while (is_past := (places != OUTSIDE) & (times_ns >= ends_ns[places])).any():
        around = _around(ends_ns) if around is None else around
        places[is_past] = around[places[is_past]]
    return places


def meanwhile(values: Reals, places: Numbers, is_chosen: Marks) -> Meanwhile | None:
    """What was measured during chosen stretches and during the others; None where one is empty.

    Args:
        values: What was measured; NaN is unknown.
        places: The stretch that each value lies in, or OUTSIDE.
        is_chosen: Per stretch.
    """
    known = ~np.isnan(values) & (places != OUTSIDE)
    chosen = is_chosen[places[known]]
    inside, outside = values[known][chosen], values[known][~chosen]
    if not len(inside) or not len(outside):
        return None
    return Meanwhile(float(inside.mean()), float(outside.mean()), len(inside), len(outside))


def _around(ends_ns: Numbers) -> Numbers:
    """Of each stretch the last one before it that ends later: what is left once it has ended."""
    found = np.arange(len(ends_ns)) - 1
    while (is_over := (found != OUTSIDE) & (ends_ns[found] <= ends_ns)).any():
        found[is_over] = found[found[is_over]]
    return found
