"""Metric series as contiguous columns of equal width, one per pixel or wider."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.analyze.tick_gaps import fill_between
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Rollup

AGGREGATES = ("mean", "max", "min")
_MARGIN_SECONDS = 10.0  # read on each side of a window, for the samples around it
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

    def cut(self, within: TimeRange) -> "Columns":
        """The columns that overlap a window."""
        first = (within.start_ns or 0) // self.width_ns - self.start_ns // self.width_ns
        last = -(-(within.end_ns or 0) // self.width_ns) - self.start_ns // self.width_ns
        chosen = slice(max(0, first), max(first + 1, last))
        start_ns = self.start_ns + chosen.start * self.width_ns
        matrices = (self.minimum[:, chosen], self.mean[:, chosen], self.maximum[:, chosen])
        return Columns(start_ns, self.width_ns, *matrices)

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
    """Read columns; those between two samples get the value of the sample before them."""
    margin_ns = round(max(_MARGIN_SECONDS, 2 * interval_seconds) * NANOSECONDS)
    start_ns, end_ns = within.start_ns or 0, within.end_ns or 0
    wider = TimeRange(max(0, start_ns - margin_ns), end_ns + margin_ns)
    share = (end_ns - start_ns + 2 * margin_ns) / max(1, end_ns - start_ns)
    rollup = reader.buckets(series, round(max_columns * share), wider)
    return align_buckets(rollup, wider, interval_seconds).cut(within)


def align_buckets(rollup: Rollup, within: TimeRange, interval_seconds: float) -> Columns:
    """Align buckets with the columns of a window, and fill columns narrower than the interval."""
    width_ns = rollup.width_ns
    interval_ns = max(width_ns, round(interval_seconds * NANOSECONDS))
    first = (within.start_ns or 0) // width_ns
    count = max(1, -(-(within.end_ns or 0) // width_ns) - first)
    times_ns = np.arange(first, first + count, dtype=np.int64) * width_ns
    indices = rollup.starts_ns // width_ns - first
    matrices = []
    for values in (rollup.minimum, rollup.mean, rollup.maximum):
        matrix = np.full((len(values), count), np.nan, dtype=np.float32)
        matrix[:, indices] = values
        matrices.append(fill_between(matrix, times_ns, interval_ns))
    return Columns(first * width_ns, width_ns, *matrices)
