"""How alike devices are used: where the values of each lie, and how far apart they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray

Counts = npt.NDArray[np.int64]

BINS = 10
_PERCENTAGES = (0, 5, 25, 50, 75, 95, 100)


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Where most values of a series lie; NaN where none is known."""

    count: int
    minimum: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    maximum: float


def quartiles_of(values: npt.NDArray[np.floating]) -> Quartiles:
    """Exact, of what is known."""
    [numbers] = percentiles(values[None, :], _PERCENTAGES)
    valid_count = int(np.count_nonzero(~np.isnan(values)))
    return Quartiles(valid_count, *(float(number) for number in numbers))


def histogram(values: npt.NDArray[np.floating], bins: int = BINS) -> Counts:
    """How many values from 0 to 100 are in each bin; NaN is left out."""
    valid = values[~np.isnan(values)]
    indices = np.clip(valid * bins / 100, 0, bins - 1).astype(np.int64)
    return np.bincount(indices, minlength=bins).astype(np.int64)


def shares(values: npt.NDArray[np.floating], bins: int = BINS) -> FloatArray:
    """The share of values from 0 to 100 in each bin; they add up to one."""
    counts = histogram(values, bins)
    return counts / max(1, int(counts.sum()))


def unlike_the_mean(histograms: Sequence[FloatArray], count: int) -> list[int]:
    """The places of those that are furthest from the mean of all, in their order."""
    summed = np.cumsum(np.array(histograms), axis=1)
    apart = np.abs(summed - summed.mean(axis=0)).sum(axis=1)
    chosen = np.argsort(-apart, kind="stable")[:count]
    return sorted(int(index) for index in chosen)


def distances(histograms: Sequence[FloatArray]) -> FloatArray:
    """The average shift that turns one histogram into the other, for every pair.

    0 is the same, 1 the whole scale: 0.2 of percentages are twenty points.
    """
    summed = np.cumsum(np.array(histograms), axis=1)
    apart = np.abs(summed[:, None, :] - summed[None, :, :]).sum(axis=2)
    return np.asarray(apart / summed.shape[1])
