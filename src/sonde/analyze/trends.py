"""Whether a noisy series has fallen, risen or stayed level, with an error estimate."""

from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import median_of
from sonde.records.arrays import FloatArray

# The mean absolute difference of two normal values, in standard deviations.
_DIFFERENCE_OF_TWO = 1.1284
# The median absolute second difference of three normal values, likewise.
_MIDDLE_OF_THREE = 0.6745 * 6**0.5
_FAR = 5.0  # times the median: a larger difference is an outlier's


@dataclass(frozen=True, slots=True)
class Change:
    """How far a series came from its beginning to its end, and how sure that is."""

    start: float
    end: float
    error: float  # standard error of the difference
    spread: float  # standard deviation of a single value

    @property
    def fall(self) -> float:
        """How far it fell; negative where it rose."""
        return self.start - self.end

    def has_fallen(self, value: float, sigmas: float) -> bool:
        """Whether it fell by more than so much, beyond what noise explains."""
        return self.fall > max(value, sigmas * self.error)

    def has_risen(self, value: float, sigmas: float) -> bool:
        """Whether it rose by more than so much, beyond what noise explains."""
        return -self.fall > max(value, sigmas * self.error)


def noise_of(values: FloatArray) -> float:
    """The standard deviation of the noise: from neighbours, so a trend does not count as noise."""
    if len(values) < 3:
        return float("inf")
    steps = np.abs(values[1:] - values[:-1])
    middle = median_of(steps)
    return float(np.minimum(steps, _FAR * middle).mean()) / _DIFFERENCE_OF_TWO


def noise_around_bend(values: FloatArray) -> float:
    """The standard deviation of the noise of a few values on a bend, which does not count."""
    if len(values) < 4:
        return 0.0
    steps = values[1:] - values[:-1]
    return median_of(np.abs(steps[1:] - steps[:-1])) / _MIDDLE_OF_THREE


def change_over(values: FloatArray, share: float = 0.25) -> Change:
    """From the first part of a series to its last, by their means; outliers are clipped."""
    count = max(1, int(len(values) * share))
    spread = noise_of(values)
    middle = median_of(values)
    if np.isfinite(spread):
        far = 6 * max(spread, median_of(np.abs(values - middle)))
        values = np.clip(values, middle - far, middle + far) if far else values
    start, end = float(values[:count].mean()), float(values[-count:].mean())
    return Change(start, end, spread * float(np.sqrt(2 / count)), spread)


def halved(values: FloatArray) -> FloatArray:
    """Means of neighbours: half as many values, each over twice the steps."""
    return np.asarray(values[: len(values) // 2 * 2].reshape(-1, 2).mean(axis=1))
