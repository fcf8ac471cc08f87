"""Histograms of groups of values with common edges."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray

Counts = npt.NDArray[np.int64]


def edges_for(groups: Sequence[npt.NDArray[np.floating]], bins: int) -> FloatArray:
    """Return the edges of N equal bins over all finite values."""
    finite = np.concatenate([np.empty(0), *(group[np.isfinite(group)] for group in groups)])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high <= low:
        low, high = low - (abs(low) * 1e-3 or 0.5), high + (abs(high) * 1e-3 or 0.5)
    return np.linspace(low, high, bins + 1)


def count_between(values: npt.NDArray[np.floating], edges: FloatArray) -> Counts:
    """Return the number of values between edges (the last edge included); ignore other values."""
    return np.histogram(values[np.isfinite(values)], edges)[0].astype(np.int64)
