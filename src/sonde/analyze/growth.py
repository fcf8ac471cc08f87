"""Whether something grows all the time, and not only until it has what it needs."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

LEAST_POINTS = 12
_PARTS = 6
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


def growth_of(seconds: Reals, values: Reals) -> Growth | None:
    """The growth of a series over its whole length; None where it is too short to tell."""
    if len(values) < LEAST_POINTS:
        return None
    places = np.searchsorted(np.linspace(seconds[0], seconds[-1], _PARTS + 1)[1:-1], seconds)
    edges = np.searchsorted(places, np.arange(_PARTS + 1))
    if (np.diff(edges) == 0).any():
        return None
    parts = np.array([np.median(values[a:b]) for a, b in pairwise(edges.tolist())])
    middles = np.add.reduceat(seconds, edges[:-1]) / np.diff(edges)
    rises = np.diff(parts)
    total = float(parts[-1] - parts[0])
    lasted = float(middles[-1] - middles[0])
    share = total / len(rises)
    is_steady = total > 0 and bool((rises >= _LEAST_SHARES * share).all())
    rate = total / lasted if lasted > 0 else 0.0
    return Growth(float(parts[0]), float(values[-1]), rate, is_steady)


def halve(rows: list[list[float]], most: int) -> list[list[float]]:
    """Rows, and where they are more than so many, the means of neighbours: half as many."""
    if len(rows) <= most:
        return rows
    even = np.array(rows[: len(rows) // 2 * 2])
    pairs: list[list[float]] = even.reshape(-1, 2, even.shape[1]).mean(axis=1).tolist()
    return pairs + rows[len(rows) // 2 * 2 :]
