"""Statistics and histograms of durations, and shares of step time.

Statistics of steps and phases are those of unprofiled steps: a profiler slows steps down. If a
job has profiled steps only, they count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import BoolArray, FloatArray

Counts = npt.NDArray[np.int64]

_PERCENTAGES = (0, 50, 90, 95, 99, 100)
_MIN_WIDTH = 1e-9  # minimum width of a histogram, relative to its lowest value


@dataclass(frozen=True, slots=True)
class Durations:
    """Statistics of durations, in seconds; NaN if there are no durations."""

    count: int
    mean: float
    deviation: float
    minimum: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float


def durations_of(seconds: FloatArray) -> Durations:
    """Return exact statistics of durations."""
    if not len(seconds):
        return Durations(0, *[float("nan")] * 8)
    [numbers] = percentiles(seconds[None, :], _PERCENTAGES)
    return Durations(
        len(seconds),
        float(seconds.mean()),
        float(seconds.std()),
        *(float(number) for number in numbers),
    )


def representative_steps(is_profiled: BoolArray) -> BoolArray:
    """Return which steps have representative durations: unprofiled steps, or all if none is."""
    return np.ones_like(is_profiled) if is_profiled.all() else ~is_profiled


def time_percent(seconds: npt.ArrayLike, step_seconds: npt.ArrayLike) -> float:
    """Return the total of some durations in percent of the total step time; 0 without steps.

    The share of a phase, such as the data wait: its time in the given steps by their duration. The
    sum counts, not the median, so that the shares of all phases add up to 100%.
    """
    total = float(np.sum(step_seconds))
    return 100 * float(np.sum(seconds)) / total if total > 0 else 0.0


def shared_histogram(
    groups: Sequence[FloatArray], bins: int, highest: float
) -> tuple[FloatArray, list[Counts]]:
    """Return edges of equal bins and, per group, the counts of its values.

    Args:
        groups: Values of the groups to compare.
        bins: Number of bins.
        highest: Larger values are counted in the last bin.
    """
    values = np.concatenate([np.empty(0), *groups])
    low = float(values.min()) if len(values) else 0.0
    high = min(float(values.max()), highest) if len(values) else 1.0
    if high - low <= abs(low) * _MIN_WIDTH:  # too narrow for distinct edges
        high = low + (abs(low) * 1e-3 or 1e-9)
    edges = np.linspace(low, high, bins + 1)
    counts = [
        np.histogram(np.clip(group, low, high), edges)[0].astype(np.int64) for group in groups
    ]
    return edges, counts
