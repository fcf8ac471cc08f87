"""Whether something grows all the time, and not only until it has what it needs."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import FloatArray

Indices = npt.NDArray[np.int64]

LEAST_POINTS = 12
FEWEST_POINTS = 5  # of something that is measured exactly
_SEGMENTS = 6
_STRAIGHT = 0.5  # of its share each part of a straight line must have
# Of an even growth each part has its share. What fills up (a cache, longer and longer sequences)
# has less and less: the later parts must have two thirds of theirs, the earlier ones some.
_LEAST_SHARES = np.array([0.3, 0.3, 0.3, 0.67, 0.67])


@dataclass(frozen=True, slots=True)
class Growth:
    """How far a series has come, and how quickly it goes on."""

    start: float
    end: float
    per_second: float
    is_steady: bool

    @property
    def rise(self) -> float:
        """How far it rose; negative where it fell."""
        return self.end - self.start

    def seconds_until(self, limit: float) -> float:
        """How long until it reaches a limit if it goes on like this."""
        if self.per_second <= 0:
            return float("inf")
        return max(0.0, limit - self.end) / self.per_second


def growth_of(seconds: FloatArray, values: FloatArray) -> Growth | None:
    """The growth of a series over its whole length; None where it is too short to tell."""
    if len(values) < LEAST_POINTS:
        return None
    edges = _edges(seconds)
    if edges is None:
        return None
    medians = _middles(values, edges)
    middles = np.add.reduceat(seconds, edges[:-1]) / np.diff(edges)
    lasted = float(middles[-1] - middles[0])
    rate = float(medians[-1] - medians[0]) / lasted if lasted > 0 else 0.0
    return Growth(float(medians[0]), float(values[-1]), rate, _is_steady(medians))


def growth_with(steps: FloatArray, seconds: FloatArray, values: FloatArray) -> Growth | None:
    """The growth of a series that is measured exactly; steady, if it is by time or by steps.

    Where others make a job slower, what it keeps at each step grows as slowly. A short job has a
    few points only: they must lie on a line.
    """
    if len(values) < FEWEST_POINTS:
        return None
    if len(values) < LEAST_POINTS:
        lasted = float(seconds[-1] - seconds[0])
        rate = float(values[-1] - values[0]) / lasted if lasted > 0 else 0.0
        is_straight = _is_straight(seconds, values) or _is_straight(steps, values)
        return Growth(float(values[0]), float(values[-1]), rate, is_straight)
    result, edges = growth_of(seconds, values), _edges(steps)
    if result is None or result.is_steady:
        return result
    if edges is None:  # many steps between two points: on a busy machine they come in bursts
        return replace(result, is_steady=_is_straight(steps, values))
    return replace(result, is_steady=_is_steady(_middles(values, edges)))


def _edges(axis: FloatArray) -> Indices | None:
    """Where parts of the same length begin and end; None where one of them is empty."""
    indices = np.searchsorted(np.linspace(axis[0], axis[-1], _SEGMENTS + 1)[1:-1], axis)
    edges = np.searchsorted(indices, np.arange(_SEGMENTS + 1))
    return None if (np.diff(edges) == 0).any() else edges


def _middles(values: FloatArray, edges: Indices) -> FloatArray:
    return np.array([np.median(values[a:b]) for a, b in pairwise(edges.tolist())])


def _is_steady(values: FloatArray) -> bool:
    rises = np.diff(values)
    total = float(values[-1] - values[0])
    return total > 0 and bool((rises >= _LEAST_SHARES * total / len(rises)).all())


def _is_straight(axis: FloatArray, values: FloatArray) -> bool:
    """Whether a few points grow evenly, to the last one."""
    if axis[-1] <= axis[0]:
        return False
    count = min(len(values) - 1, _SEGMENTS)
    rises = np.diff(np.interp(np.linspace(axis[0], axis[-1], count + 1), axis, values))
    return bool(rises.min() > 0 and rises.min() >= _STRAIGHT * rises.mean())


def halve(rows: list[list[float]], index: int) -> list[list[float]]:
    """The rows; above a maximum number, the means of pairs of neighbors."""
    if len(rows) <= index:
        return rows
    even = np.array(rows[: len(rows) // 2 * 2])
    pairs: list[list[float]] = even.reshape(-1, 2, even.shape[1]).mean(axis=1).tolist()
    return pairs + rows[len(rows) // 2 * 2 :]
