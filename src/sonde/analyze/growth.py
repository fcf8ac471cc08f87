"""Detect steady growth, as opposed to growth that levels off."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray

Indices = npt.NDArray[np.int64]

MIN_POINTS = 12
MIN_EXACT_POINTS = 5  # for exact measurements
_SEGMENTS = 6
_MIN_STRAIGHT_SHARE = 0.5  # minimum rise of each segment of a straight line, relative to the mean
# Minimum rise of each segment, relative to even growth. If growth levels off (a cache that fills,
# sequences that become longer), later segments rise less, so they have a higher minimum.
_MIN_SHARES = np.array([0.3, 0.3, 0.3, 0.67, 0.67])


@dataclass(frozen=True, slots=True)
class Growth:
    """Start, end and rate of a series, and whether its growth is steady."""

    start: float
    end: float
    per_second: float
    is_steady: bool

    @property
    def rise(self) -> float:
        """The increase; negative if the series fell."""
        return self.end - self.start

    def seconds_until(self, limit: float) -> float:
        """Return the seconds until a limit is reached at the current rate."""
        if self.per_second <= 0:
            return float("inf")
        return max(0.0, limit - self.end) / self.per_second


def growth_of(seconds: FloatArray, values: FloatArray) -> Growth | None:
    """Return the growth of a noisy series over time; None if it is too short."""
    if len(values) < MIN_POINTS:
        return None
    edges = _edges(seconds)
    if edges is None:
        return None
    medians = _segment_medians(values, edges)
    centers = np.add.reduceat(seconds, edges[:-1]) / np.diff(edges)
    duration = float(centers[-1] - centers[0])
    rate = float(medians[-1] - medians[0]) / duration if duration > 0 else 0.0
    return Growth(float(medians[0]), float(values[-1]), rate, _is_steady(medians))


def growth_by_time_or_steps(
    steps: FloatArray, seconds: FloatArray, values: FloatArray
) -> Growth | None:
    """Return the growth of an exactly measured series; it is steady over time or over steps.

    A leak per step grows more slowly when other processes slow the job down. The few points of a
    short job must lie on a straight line.
    """
    if len(values) < MIN_EXACT_POINTS:
        return None
    if len(values) < MIN_POINTS:
        duration = float(seconds[-1] - seconds[0])
        rate = float(values[-1] - values[0]) / duration if duration > 0 else 0.0
        is_straight = _is_straight(seconds, values) or _is_straight(steps, values)
        return Growth(float(values[0]), float(values[-1]), rate, is_straight)
    result, edges = growth_of(seconds, values), _edges(steps)
    if result is None or result.is_steady:
        return result
    if edges is None:  # many steps between two points: on a busy machine, steps come in bursts
        return replace(result, is_steady=_is_straight(steps, values))
    return replace(result, is_steady=_is_steady(_segment_medians(values, edges)))


def _edges(axis: FloatArray) -> Indices | None:
    """Return the edges of segments of equal length; None if a segment is empty."""
    indices = np.searchsorted(np.linspace(axis[0], axis[-1], _SEGMENTS + 1)[1:-1], axis)
    edges = np.searchsorted(indices, np.arange(_SEGMENTS + 1))
    return None if (np.diff(edges) == 0).any() else edges


def _segment_medians(values: FloatArray, edges: Indices) -> FloatArray:
    return np.array([np.median(values[start:end]) for start, end in pairwise(edges.tolist())])


def _is_steady(values: FloatArray) -> bool:
    rises = np.diff(values)
    total = float(values[-1] - values[0])
    return total > 0 and bool((rises >= _MIN_SHARES * total / len(rises)).all())


def _is_straight(axis: FloatArray, values: FloatArray) -> bool:
    """Whether a few points grow evenly until the last one."""
    if axis[-1] <= axis[0]:
        return False
    count = min(len(values) - 1, _SEGMENTS)
    rises = np.diff(np.interp(np.linspace(axis[0], axis[-1], count + 1), axis, values))
    return bool(rises.min() > 0 and rises.min() >= _MIN_STRAIGHT_SHARE * rises.mean())


def halve(rows: list[list[float]], max_rows: int) -> list[list[float]]:
    """Return the rows, or the means of pairs of neighbors if there are more than a maximum."""
    if len(rows) <= max_rows:
        return rows
    even = np.array(rows[: len(rows) // 2 * 2])
    pairs: list[list[float]] = even.reshape(-1, 2, even.shape[1]).mean(axis=1).tolist()
    return pairs + rows[len(rows) // 2 * 2 :]
