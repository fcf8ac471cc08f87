"""Detect outliers with a robust deviation.

The deviation is the median absolute deviation, scaled so that it equals the standard deviation of
normally distributed values. Outliers hardly change it.
"""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray

STEP_DEVIATIONS = 3.0
STEP_FACTOR = 1.5

_DEVIATION_PER_MAD = 1.4826  # for a normal distribution
_LOADING_DEVIATIONS = 5.0  # a healthy loader stays below
_LOADING_FACTOR = 2.0
_LOADING_SECONDS = 0.005
_MANY_DURATIONS = 20
_MIN_DURATIONS = 4


def robust_deviation(values: npt.ArrayLike, center: float | None = None) -> float:
    """Return the robust standard deviation of values; NaN is ignored.

    Args:
        values: At least one of them is not NaN.
        center: The center to use instead of the median.
    """
    numbers = np.asarray(values, dtype=np.float64)
    middle = float(np.nanmedian(numbers)) if center is None else center
    return _DEVIATION_PER_MAD * float(np.nanmedian(np.abs(numbers - middle)))


def outlier_limit(
    seconds: FloatArray,
    deviations: float = STEP_DEVIATIONS,
    factor: float = STEP_FACTOR,
    center: float | None = None,
) -> float:
    """Return the duration above which a step is an outlier; infinite without steps.

    Args:
        seconds: Durations of the steps.
        deviations: Minimum distance from the median, in robust deviations.
        factor: Minimum ratio to the median.
        center: The duration to use instead of the median.
    """
    if not len(seconds):
        return float("inf")
    median = float(np.median(seconds)) if center is None else center
    return max(median + deviations * robust_deviation(seconds, median), factor * median)


def loading_outliers(seconds: npt.ArrayLike) -> list[int]:
    """Return the indices of waits or starts of a loader that took much longer than the others.

    Frequent values are not outliers: with two loader processes, every second wait may be long. So
    the limit is at least twice the 90th percentile (for few values, the 75th).
    """
    values = np.asarray(seconds, dtype=np.float64)
    if len(values) < _MIN_DURATIONS:
        return []
    frequent = float(np.quantile(values, 0.9 if len(values) >= _MANY_DURATIONS else 0.75))
    limit = max(
        outlier_limit(values, _LOADING_DEVIATIONS, 1.0),
        _LOADING_FACTOR * frequent,
        float(np.median(values)) + _LOADING_SECONDS,
    )
    return np.flatnonzero(values > limit).tolist()
