"""How closely two things go together, stretch by stretch."""

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def means_by_place(values: npt.NDArray[np.floating], places: Numbers, count: int) -> Reals:
    """The mean of what was measured in each of some stretches; NaN where nothing was.

    Args:
        values: What was measured; NaN is unknown.
        places: The stretch that each value lies in; a negative one is none.
        count: How many stretches there are.
    """
    known = ~np.isnan(values) & (places >= 0)
    counts = np.bincount(places[known], minlength=count)
    sums = np.bincount(places[known], values[known].astype(np.float64), minlength=count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def correlation(one: Reals, other: Reals) -> float:
    """From -1, one falls where the other rises, to 1; NaN where one of them never changes."""
    known = ~(np.isnan(one) | np.isnan(other))
    if np.count_nonzero(known) < 2:
        return float("nan")
    first, second = one[known] - one[known].mean(), other[known] - other[known].mean()
    size = float(np.sqrt((first**2).sum()) * np.sqrt((second**2).sum()))
    return float(np.clip((first * second).sum() / size, -1.0, 1.0)) if size else float("nan")
