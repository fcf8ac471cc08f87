"""Differences between the measurements of two runs, with their noise."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray

_WARM_UP = 10  # maximum number of first values left out: caches are cold, kernels are compiled
_WARM_UP_SHARE = 0.1
_MAX_BLOCKS = 20
_MIN_BLOCKS = 4
_BLOCK = 3  # values in a block, at least
_NORMAL_QUANTILE = 1.96  # 95%, two-sided


@dataclass(frozen=True, slots=True)
class Difference:
    """Two means, and how far their difference may be off.

    Neighboring steps resemble each other, so the noise is estimated from means of consecutive
    blocks instead of single values.
    """

    first: float
    second: float
    bound: float  # half the width of the 95% interval of the difference; NaN if unknown

    @property
    def change(self) -> float:
        """The second mean minus the first."""
        return self.second - self.first

    @property
    def percent(self) -> float:
        """The change in percent of the first mean; NaN if that is 0."""
        return 100 * self.change / self.first if self.first else float("nan")

    @property
    def is_significant(self) -> bool:
        """Whether the change exceeds the noise."""
        return abs(self.change) > self.bound


def difference_of(first: FloatArray, second: FloatArray) -> Difference:
    """Return the difference of the means of two series of steps."""
    (mean, error, freedom), (other_mean, other_error, other_freedom) = (
        _mean_and_error(values) for values in (first, second)
    )
    error_squares = error**2, other_error**2
    total = sum(error_squares)
    if not total > 0:  # also if it is unknown
        return Difference(mean, other_mean, total)
    # Welch and Satterthwaite
    parts = error_squares[0] ** 2 / freedom + error_squares[1] ** 2 / other_freedom
    bound = _student_quantile(total**2 / parts) * float(np.sqrt(total))
    return Difference(mean, other_mean, bound)


def without_warm_up(count: int) -> slice:
    """Return which of a number of steps count: all but the first few."""
    return slice(min(_WARM_UP, int(count * _WARM_UP_SHARE)), count)


def differs(first: FloatArray, second: FloatArray, tolerance: float) -> BoolArray:
    """Return whether values differ by more than a relative tolerance; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(first), np.abs(second))
        is_near = (first == second) | (np.abs(first - second) <= tolerance * size)
    return np.asarray(~(is_near | (np.isnan(first) & np.isnan(second))))


def _mean_and_error(values: FloatArray) -> tuple[float, float, int]:
    """Return the mean, its standard error and the degrees of freedom."""
    blocks = min(_MAX_BLOCKS, len(values) // _BLOCK)
    mean = float(values.mean()) if len(values) else float("nan")
    if blocks < _MIN_BLOCKS:
        return mean, float("nan"), 0
    means = np.array([block.mean() for block in np.array_split(values, blocks)])
    return mean, float(means.std(ddof=1) / np.sqrt(blocks)), blocks - 1


def _student_quantile(freedom: float) -> float:
    """Return the 97.5% quantile of Student's t, by its Cornish-Fisher expansion."""
    z = _NORMAL_QUANTILE
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
