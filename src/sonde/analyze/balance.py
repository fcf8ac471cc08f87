"""Compare the utilization of devices by quartiles and histograms."""

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
    """Quartiles and tails of a series; NaN if no value is known."""

    count: int
    minimum: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    maximum: float


def quartiles_of(values: npt.NDArray[np.floating]) -> Quartiles:
    """Return exact quartiles of the known values."""
    [numbers] = percentiles(values[None, :], _PERCENTAGES)
    valid_count = int(np.count_nonzero(~np.isnan(values)))
    return Quartiles(valid_count, *(float(number) for number in numbers))


def histogram(values: npt.NDArray[np.floating], bins: int = BINS) -> Counts:
    """Return counts of values from 0 to 100 in equal bins; NaN is ignored."""
    known = values[~np.isnan(values)]
    indices = np.clip(known * bins / 100, 0, bins - 1).astype(np.int64)
    return np.bincount(indices, minlength=bins).astype(np.int64)


def shares(values: npt.NDArray[np.floating], bins: int = BINS) -> FloatArray:
    """Return the share of values in each bin; shares add up to 1."""
    counts = histogram(values, bins)
    return counts / max(1, int(counts.sum()))


def furthest_from_mean(histograms: Sequence[FloatArray], count: int) -> list[int]:
    """Return the indices of the N histograms furthest from the mean, in ascending order."""
    cumulative = np.cumsum(np.array(histograms), axis=1)
    distance = np.abs(cumulative - cumulative.mean(axis=0)).sum(axis=1)
    furthest = np.argsort(-distance, kind="stable")[:count]
    return sorted(int(index) for index in furthest)


def distances(histograms: Sequence[FloatArray]) -> FloatArray:
    """Return the earth mover's distance of every pair of histograms.

    0 means equal; 1 is the whole scale: a distance of 0.2 is 20 percentage points.
    """
    cumulative = np.cumsum(np.array(histograms), axis=1)
    totals = np.abs(cumulative[:, None, :] - cumulative[None, :, :]).sum(axis=2)
    return np.asarray(totals / cumulative.shape[1])
