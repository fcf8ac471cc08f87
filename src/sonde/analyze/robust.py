"""What is usual for a noisy series, however heavy its tail; and what is far outside of that."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import BoolArray, FloatArray

_UPPER = 0.95
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class TypicalRange:
    """The middle of a series, where its upper tail begins, and the largest that was seen."""

    median: float
    upper: float
    largest: float

    @classmethod
    def of(cls, values: FloatArray) -> "TypicalRange":
        """Of finite values, at least one."""
        ordered = np.sort(values)
        count = len(ordered)
        return cls(
            float(ordered[count // 2]),
            float(ordered[min(count - 1, int(_UPPER * count))]),
            float(ordered[-1]),
        )

    def limit(self, times: float) -> float:
        """The value that is N times as far above the median as the start of the tail.

        By differences, and by ratios where all is positive: the loss of a small batch is now and
        then a hundred times its middle, and its tail says so only by ratios.
        """
        by_difference = self.median + times * (self.upper - self.median)
        if self.median <= 0:
            return by_difference
        reach = float(np.log(max(self.upper, _TINY) / self.median)) * min(times, _MOST_RATIOS)
        return max(by_difference, self.median * float(np.exp(min(reach, _MOST_REACH))))


_MOST_RATIOS = 3.0  # beyond it ratios of a heavy tail allow anything
_MOST_REACH = 600.0  # exp of more is no number


def median_of(values: npt.ArrayLike) -> float:
    """The median of at least one value, as numpy has it; of a few values much sooner."""
    ordered = np.sort(np.asarray(values))
    count = len(ordered)
    high = float(ordered[count // 2])
    if count % 2 == 0:
        high = (float(ordered[count // 2 - 1]) + high) / 2
    return high if ordered[-1] == ordered[-1] else float("nan")  # what is no number comes last


def quantile_of(ordered: FloatArray, at: float) -> float:
    """A quantile of sorted numbers, interpolated as numpy does it."""
    index = (len(ordered) - 1) * at
    below = int(index)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    share = index - below
    # from the nearer end: so it never leaves the two
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def longest_run(marks: BoolArray) -> tuple[int, int]:
    """Where the longest run of marks begins, and how long it is."""
    if not marks.any():
        return 0, 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    runs = edges.reshape(-1, 2)
    lengths = runs[:, 1] - runs[:, 0]
    index = int(lengths.argmax())
    return int(runs[index, 0]), int(lengths[index])
