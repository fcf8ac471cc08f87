"""Percentiles of many series at once, exact, with unknown values left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def percentiles(
    values: npt.NDArray[np.floating[Any]], percentages: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Percentiles per series, linearly interpolated; NaN for a series without a known value.

    Args:
        values: As (series, sample); NaN where nothing was measured.
        percentages: From 0 to 100.

    Returns:
        As (series, percentile).
    """
    result = np.full((len(values), len(percentages)), np.nan)
    for row, item in enumerate(values):
        # Sorting puts NaN last, and numpy sorts with vector instructions: quicker than selecting
        ordered = np.sort(item)
        valid = ordered[: np.searchsorted(ordered, np.nan)]
        if len(valid):
            result[row] = _of_one(valid, np.asarray(percentages, dtype=np.float64))
    return result


def _of_one(
    ordered: npt.NDArray[np.floating[Any]], percentages: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    indices = percentages / 100 * (len(ordered) - 1)
    below = np.floor(indices).astype(np.intp)
    above = np.ceil(indices).astype(np.intp)
    low, high = ordered[below].astype(np.float64), ordered[above].astype(np.float64)
    with np.errstate(invalid="ignore"):  # of neighbours that are infinite
        between = low + (high - low) * (indices - below)
    return np.where(low == high, low, between)
