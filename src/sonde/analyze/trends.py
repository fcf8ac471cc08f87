"""Measure the change of a noisy series, with an error estimate."""

from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import median_of
from sonde.records.arrays import FloatArray

# of independent normal values with a standard deviation of 1
_MEAN_DIFFERENCE = 1.1284  # mean absolute difference of two values
_MEDIAN_SECOND_DIFFERENCE = 0.6745 * 6**0.5  # median absolute second difference of three values
_OUTLIER_FACTOR = 5.0  # differences are clipped at this multiple of their median


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a series from its beginning to its end, with its standard error."""

    start: float
    end: float
    error: float  # standard error of the difference
    spread: float  # standard deviation of a single value

    @property
    def fall(self) -> float:
        """The decrease; negative if the series rose."""
        return self.start - self.end

    def has_fallen(self, min_change: float, sigmas: float) -> bool:
        """Whether the series fell by more than a minimum and more than noise explains."""
        return self.fall > max(min_change, sigmas * self.error)

    def has_risen(self, min_change: float, sigmas: float) -> bool:
        """Whether the series rose by more than a minimum and more than noise explains."""
        return -self.fall > max(min_change, sigmas * self.error)


def noise_of(values: FloatArray) -> float:
    """Return the standard deviation of the noise, estimated from differences of neighbors.

    A trend hardly changes it.
    """
    if len(values) < 3:
        return float("inf")
    differences = np.abs(values[1:] - values[:-1])
    limit = _OUTLIER_FACTOR * median_of(differences)
    return float(np.minimum(differences, limit).mean()) / _MEAN_DIFFERENCE


def noise_around_bend(values: FloatArray) -> float:
    """Return the standard deviation of the noise of a few values on a curve.

    It is estimated from second differences, which a smooth bend hardly changes.
    """
    if len(values) < 4:
        return 0.0
    differences = values[1:] - values[:-1]
    second_differences = np.abs(differences[1:] - differences[:-1])
    return median_of(second_differences) / _MEDIAN_SECOND_DIFFERENCE


def measure_change(values: FloatArray, share: float = 0.25) -> Change:
    """Compare the means of the first and the last part of a series, with outliers clipped."""
    count = max(1, int(len(values) * share))
    spread = noise_of(values)
    median = median_of(values)
    if np.isfinite(spread):
        reach = 6 * max(spread, median_of(np.abs(values - median)))
        values = np.clip(values, median - reach, median + reach) if reach else values
    start, end = float(values[:count].mean()), float(values[-count:].mean())
    return Change(start, end, spread * float(np.sqrt(2 / count)), spread)


def average_pairs(values: FloatArray) -> FloatArray:
    """Return the means of pairs of neighbors: half as many values."""
    return np.asarray(values[: len(values) // 2 * 2].reshape(-1, 2).mean(axis=1))
