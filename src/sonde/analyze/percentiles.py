"""Percentiles of many series at once, exact, with unknown values left out."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def percentiles(
    values: npt.NDArray[np.float32], wanted: Sequence[float]
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
        known = one[~np.isnan(one)]
        if len(known):
            result[row] = _of_one(known, np.asarray(wanted, dtype=np.float64))
    return result


def _of_one(
    known: npt.NDArray[np.float32], wanted: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """By selection instead of sorting: only the neighbours of each percentile are put in place."""
    places = wanted / 100 * (len(known) - 1)
    below = np.floor(places).astype(np.intp)
    above = np.ceil(places).astype(np.intp)
    parted = np.partition(known, np.unique(np.concatenate([below, above])))
    low, high = parted[below].astype(np.float64), parted[above].astype(np.float64)
    with np.errstate(invalid="ignore"):  # of neighbours that are infinite
        between = low + (high - low) * (places - below)
    return np.where(low == high, low, between)
