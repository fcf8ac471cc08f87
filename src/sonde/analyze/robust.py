"""Robust statistics of noisy series, including series with heavy tails."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import BoolArray, FloatArray

_UPPER = 0.95
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class TypicalRange:
    """Median, start of the upper tail (95th percentile) and maximum of a series."""

    median: float
    upper: float
    largest: float

    @classmethod
    def of(cls, values: FloatArray) -> "TypicalRange":
        """Compute them from at least one finite value."""
        ordered = np.sort(values)
        count = len(ordered)
        return cls(
            float(ordered[count // 2]),
            float(ordered[min(count - 1, int(_UPPER * count))]),
            float(ordered[-1]),
        )

    def limit(self, factor: float) -> float:
        """Return the value N times as far above the median as the start of the tail.

        Distances are differences and, for positive values, also ratios; the larger limit wins.
        Losses of small batches need ratios: now and then they are 100 times their median.
        """
        by_difference = self.median + factor * (self.upper - self.median)
        if self.median <= 0:
            return by_difference
        log_ratio = float(np.log(max(self.upper, _TINY) / self.median))
        exponent = min(log_ratio * min(factor, _MAX_RATIO_FACTOR), _MAX_EXPONENT)
        return max(by_difference, self.median * float(np.exp(exponent)))


_MAX_RATIO_FACTOR = 3.0  # with a larger factor, ratios of a heavy tail allow any value
_MAX_EXPONENT = 600.0  # avoids an overflow in exp


def median_of(values: npt.ArrayLike) -> float:
    """Return the median of at least one value; much faster than numpy for short series."""
    ordered = np.sort(np.asarray(values))
    count = len(ordered)
    high = float(ordered[count // 2])
    if count % 2 == 0:
        high = (float(ordered[count // 2 - 1]) + high) / 2
    return high if ordered[-1] == ordered[-1] else float("nan")  # sorting puts NaN last


def quantile_of(ordered: FloatArray, quantile: float) -> float:
    """Return a quantile of sorted numbers, interpolated like `numpy.quantile`."""
    index = (len(ordered) - 1) * quantile
    below = int(index)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    fraction = index - below
    # from the nearer end, so that rounding errors cannot leave the interval
    if fraction < 0.5:
        return low + (high - low) * fraction
    return high - (high - low) * (1 - fraction)


def longest_run(is_marked: BoolArray) -> tuple[int, int]:
    """Return start and length of the longest run of True values."""
    if not is_marked.any():
        return 0, 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_marked, [False])).astype(np.int8)))
    runs = edges.reshape(-1, 2)
    lengths = runs[:, 1] - runs[:, 0]
    index = int(lengths.argmax())
    return int(runs[index, 0]), int(lengths[index])
