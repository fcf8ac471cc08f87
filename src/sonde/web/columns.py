"""Metric series as contiguous columns of equal width, one per pixel or wider."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Rollup

AGGREGATES = ("mean", "max", "min")
HALF_PERCENT = 0.5  # the resolution of utilization in a heat map


@dataclass(frozen=True)
class Columns:
    """Several series in columns of equal width; NaN where there is no sample."""

    start_ns: int
    width_ns: int
    minimum: Floats
    mean: Floats
    maximum: Floats

    def by(self, name: str) -> Floats:
        """One of `mean`, `max` and `min`, as (series, column)."""
        return {"mean": self.mean, "max": self.maximum, "min": self.minimum}[name]

    def document(self) -> dict[str, Any]:
        """The position of the columns in time."""
        return {
            "start": self.start_ns / NANOSECONDS,
            "width": self.width_ns / NANOSECONDS,
            "count": self.mean.shape[1],
        }


def columns_of(
    reader: SystemReader,
    series: Sequence[Series],
    within: TimeRange,
    max_columns: int,
    interval_seconds: float,
) -> Columns:
    """Read columns, none narrower than the sampling interval, which would leave gaps."""
    span_ns = (within.end_ns or 0) - (within.start_ns or 0)
    fitting = int(span_ns / (interval_seconds * NANOSECONDS)) + 2
    rollup = reader.buckets(series, max(2, min(max_columns, fitting)), within)
    return align_buckets(rollup, within, interval_seconds)


def align_buckets(rollup: Rollup, within: TimeRange, interval_seconds: float) -> Columns:
    """Align buckets with the columns of a window; fill columns that a late sample just missed."""
    width_ns = rollup.width_ns
    first = (within.start_ns or 0) // width_ns
    count = max(1, -(-(within.end_ns or 0) // width_ns) - first)
    indices = rollup.starts_ns // width_ns - first
    matrices = []
    for values in (rollup.minimum, rollup.mean, rollup.maximum):
        matrix = np.full((len(values), count), np.nan, dtype=np.float32)
        matrix[:, indices] = values
        matrices.append(matrix)
    if width_ns < 2 * interval_seconds * NANOSECONDS:
        matrices = [_fill_single_gaps(matrix) for matrix in matrices]
    return Columns(first * width_ns, width_ns, *matrices)


def _fill_single_gaps(values: Floats) -> Floats:
    """Fill a single empty column between two filled ones with the value before it."""
    filled = ~np.isnan(values)
    fillable = np.zeros_like(filled)
    fillable[:, 1:-1] = ~filled[:, 1:-1] & filled[:, :-2] & filled[:, 2:]
    before = np.roll(values, 1, axis=1)
    return np.where(fillable, before, values)
