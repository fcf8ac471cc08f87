"""Percentiles of many series at once, exact, with unknown values left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def percentiles(
    values: npt.NDArray[np.floating[Any]], wanted: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Percentiles per series, linearly interpolated; NaN for a series without a known value.

    Args:
        values: As (series, sample); NaN where nothing was measured.
        wanted: Percentages from 0 to 100.

    Returns:
        As (series, percentile).
    """
    result = np.full((len(values), len(wanted)), np.nan)
    for row, one in enumerate(values):
        # Sorting puts NaN last, and numpy sorts with vector instructions: quicker than selecting
        ordered = np.sort(one)
        known = ordered[: np.searchsorted(ordered, np.nan)]
        if len(known):
            result[row] = _of_one(known, np.asarray(wanted, dtype=np.float64))
    return result


def _of_one(
    ordered: npt.NDArray[np.floating[Any]], wanted: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    places = wanted / 100 * (len(ordered) - 1)
    below = np.floor(places).astype(np.intp)
    above = np.ceil(places).astype(np.intp)
    low, high = ordered[below].astype(np.float64), ordered[above].astype(np.float64)
    with np.errstate(invalid="ignore"):  # of neighbours that are infinite
        between = low + (high - low) * (places - below)
    return np.where(low == high, low, between)
