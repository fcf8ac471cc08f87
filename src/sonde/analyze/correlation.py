"""How closely two things go together, stretch by stretch."""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray, IntArray


def means_by_place(values: npt.NDArray[np.floating], indices: IntArray, count: int) -> FloatArray:
    """The mean of the values in each interval; NaN for an interval without values.

    Args:
        values: NaN is unknown.
        indices: The interval of each value; negative for none.
        count: The number of intervals.
    """
    is_known = ~np.isnan(values) & (indices >= 0)
    counts = np.bincount(indices[is_known], minlength=count)
    sums = np.bincount(indices[is_known], values[is_known].astype(np.float64), minlength=count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def correlation(values: FloatArray, other_values: FloatArray) -> float:
    """From -1, one falls where the other rises, to 1; NaN where one of them never changes."""
    is_known = ~(np.isnan(values) | np.isnan(other_values))
    if np.count_nonzero(is_known) < 2:
        return float("nan")
    first, second = (
        values[is_known] - values[is_known].mean(),
        other_values[is_known] - other_values[is_known].mean(),
    )
    size = float(np.sqrt((first**2).sum()) * np.sqrt((second**2).sum()))
    return float(np.clip((first * second).sum() / size, -1.0, 1.0)) if size else float("nan")
