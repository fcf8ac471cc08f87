"""Durations that are out of line with the others."""

import numpy as np
import numpy.typing as npt

_DEVIATIONS = 5.0  # robust ones; noise of a healthy loader stays below
_MAD_TO_DEVIATION = 1.4826
_TIMES_USUAL = 2.0  # what is not twice as long is no outlier, however steady the others are
_MANY = 20
_LEAST_SECONDS = 0.005
_LEAST_COUNT = 4  # of which one can be unusual


def outliers(seconds: npt.ArrayLike) -> list[int]:
    """The places of durations that are out of line, by the spread of the middle ones."""
    values = np.asarray(seconds, dtype=np.float64)
    if len(values) < _LEAST_COUNT:
        return []
    usual = float(np.median(values))
    spread = float(np.median(np.abs(values - usual))) * _MAD_TO_DEVIATION
    # what happens often is not out of line: with two processes every second wait may be long
    often = float(np.quantile(values, 0.9 if len(values) >= _MANY else 0.75))
    limit = max(usual + _DEVIATIONS * spread, often * _TIMES_USUAL, usual + _LEAST_SECONDS)
    return np.flatnonzero(values > limit).tolist()
