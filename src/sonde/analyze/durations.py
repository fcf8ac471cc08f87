"""Statistics and histograms of durations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray

Counts = npt.NDArray[np.int64]

_PERCENTAGES = (0, 50, 95, 99, 100)
_MIN_WIDTH = 1e-9  # minimum width of a histogram, relative to its lowest value


@dataclass(frozen=True, slots=True)
class Durations:
    """Statistics of durations, in seconds; NaN if there are no durations."""

    count: int
    mean: float
    deviation: float
    minimum: float
    p50: float
    p95: float
    p99: float
    maximum: float


def durations_of(seconds: FloatArray) -> Durations:
    """Return exact statistics of durations."""
    if not len(seconds):
        return Durations(0, *[float("nan")] * 7)
    [numbers] = percentiles(seconds[None, :], _PERCENTAGES)
    return Durations(
        len(seconds),
        float(seconds.mean()),
        float(seconds.std()),
        *(float(number) for number in numbers),
    )


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
