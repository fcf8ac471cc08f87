"""Correlation of two series, and means of samples per interval."""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray, IntArray


def means_by_interval(
    values: npt.NDArray[np.floating], indices: IntArray, count: int
) -> FloatArray:
    """Return the mean of the values in each interval; NaN for an interval without values.

    Args:
        values: The samples; NaN if unknown.
        indices: The interval of each value; negative for none.
        count: The number of intervals.
    """
    is_known = ~np.isnan(values) & (indices >= 0)
    counts = np.bincount(indices[is_known], minlength=count)
    sums = np.bincount(indices[is_known], values[is_known].astype(np.float64), minlength=count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def correlation(values: FloatArray, other_values: FloatArray) -> float:
    """Return Pearson's correlation coefficient; NaN if one of the series is constant."""
    is_known = ~(np.isnan(values) | np.isnan(other_values))
    if np.count_nonzero(is_known) < 2:
        return float("nan")
    first = values[is_known] - values[is_known].mean()
    second = other_values[is_known] - other_values[is_known].mean()
    norm = float(np.sqrt((first**2).sum()) * np.sqrt((second**2).sum()))
    return float(np.clip((first * second).sum() / norm, -1.0, 1.0)) if norm else float("nan")
