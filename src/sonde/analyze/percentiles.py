"""Exact percentiles of many series at once, ignoring unknown values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def percentiles(
    values: npt.NDArray[np.floating[Any]], percentages: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Return percentiles per series, linearly interpolated; NaN for a series without known values.

    Args:
        values: As (series, sample); NaN if unknown.
        percentages: From 0 to 100.

    Returns:
        As (series, percentile).
    """
    result = np.full((len(values), len(percentages)), np.nan)
    for row, series in enumerate(values):
        # sorting puts NaN last; numpy sorts with vector instructions, which is faster than masking
        ordered = np.sort(series)
        known = ordered[: np.searchsorted(ordered, np.nan)]
        if len(known):
            result[row] = _interpolate(known, np.asarray(percentages, dtype=np.float64))
    return result


def _interpolate(
    ordered: npt.NDArray[np.floating[Any]], percentages: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    indices = percentages / 100 * (len(ordered) - 1)
    below = np.floor(indices).astype(np.intp)
    above = np.ceil(indices).astype(np.intp)
    low, high = ordered[below].astype(np.float64), ordered[above].astype(np.float64)
    with np.errstate(invalid="ignore"):  # infinite neighbors
        between = low + (high - low) * (indices - below)
    return np.where(low == high, low, between)
