"""Outliers: values far above the others, measured by the spread of the ordinary ones.

All of them use the same deviation: the median distance from the median, scaled so that it equals
the standard deviation of normally distributed values. Outliers hardly change it.
"""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray

STEP_DEVIATIONS = 3.0
STEP_FACTOR = 1.5

_DEVIATION_PER_MAD = 1.4826  # of a normal distribution
_LOADING_DEVIATIONS = 5.0  # a healthy loader stays below
_LOADING_FACTOR = 2.0
_LOADING_SECONDS = 0.005
_MANY_DURATIONS = 20
_MIN_DURATIONS = 4


def robust_deviation(values: npt.ArrayLike, center: float | None = None) -> float:
    """The standard deviation of the ordinary values; NaN is left out.

    Args:
        values: At least one of them not NaN.
        center: The median unless it is given.
    """
    numbers = np.asarray(values, dtype=np.float64)
    middle = float(np.nanmedian(numbers)) if center is None else center
    return _DEVIATION_PER_MAD * float(np.nanmedian(np.abs(numbers - middle)))


def outlier_limit(
    seconds: FloatArray, deviations: float = STEP_DEVIATIONS, factor: float = STEP_FACTOR
) -> float:
    """The duration above which a step is an outlier; infinite without steps.

    Args:
        seconds: How long the steps took.
        deviations: How many robust deviations above the median it is at least.
        factor: How many times the median it is at least.
    """
    if not len(seconds):
        return float("inf")
    median = float(np.median(seconds))
    return max(median + deviations * robust_deviation(seconds, median), factor * median)


def loading_outliers(seconds: npt.ArrayLike) -> list[int]:
    """The indices of waits or starts of a loader that took much longer than the others.

    What happens often is not an outlier: with two loader processes, every second wait may be long.
    So the limit also is twice the 90th percentile (of few values, the 75th).
    """
    values = np.asarray(seconds, dtype=np.float64)
    if len(values) < _MIN_DURATIONS:
        return []
    often = float(np.quantile(values, 0.9 if len(values) >= _MANY_DURATIONS else 0.75))
    limit = max(
        outlier_limit(values, _LOADING_DEVIATIONS, 1.0),
        _LOADING_FACTOR * often,
        float(np.median(values)) + _LOADING_SECONDS,
    )
    return np.flatnonzero(values > limit).tolist()
