"""Metric series over a window, with about one point per pixel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Instants

_GAP = 3.0  # times the usual distance between samples counts as a gap
Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Curves:
    """Minimum, mean and maximum of several series as (series, point), at the same instants."""

    width_ns: int  # of a bucket; 0 if each point is one sample
    times_ns: Instants  # of a bucket: its middle
    minimum: Floats
    mean: Floats
    maximum: Floats

    def over(self, rows: Sequence[int]) -> dict[str, Floats]:
        """One series, or the mean, minimum and maximum of several."""
        if len(rows) == 1:
            row = rows[0]
            return {"min": self.minimum[row], "mean": self.mean[row], "max": self.maximum[row]}
        if not rows:
            empty = np.full(len(self.times_ns), np.nan, dtype=np.float32)
            return {"min": empty, "mean": empty, "max": empty}
        chosen = np.asarray(rows)
        is_finite = ~np.isnan(self.mean[chosen])
        total = np.where(is_finite, self.mean[chosen], 0).sum(axis=0, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (total / is_finite.sum(axis=0)).astype(np.float32)
        return {
            "min": np.fmin.reduce(self.minimum[chosen], axis=0),
            "mean": mean,
            "max": np.fmax.reduce(self.maximum[chosen], axis=0),
        }


def read_curves(
    reader: SystemReader,
    series: Sequence[Series],
    within: TimeRange,
    max_points: int,
    interval_seconds: float,
) -> Curves:
    """Read samples if each has its own pixel, otherwise buckets; gaps are NaN."""
    span_ns = (within.end_ns or 0) - (within.start_ns or 0)
    if span_ns <= max_points * interval_seconds * NANOSECONDS:
        times_ns, values = reader.samples(series, within)
        if len(times_ns) <= 2 * max_points:
            return _with_gaps(times_ns, values, round(interval_seconds * NANOSECONDS))
    rollup = reader.buckets(series, max_points, within)
    starts_ns, indices = regular(rollup.starts_ns, rollup.width_ns)
    lowest, mean, highest = (
        _spread(values, indices, len(starts_ns))
        for values in (rollup.minimum, rollup.mean, rollup.maximum)
    )
    return Curves(rollup.width_ns, starts_ns + rollup.width_ns // 2, lowest, mean, highest)


def regular(starts_ns: Instants, width_ns: int) -> tuple[Instants, Numbers]:
    """Every bucket from the first to the last, and the indices of those that have data."""
    if not len(starts_ns):
        return starts_ns, np.empty(0, dtype=np.int64)
    indices = (starts_ns - starts_ns[0]) // width_ns
    return starts_ns[0] + np.arange(int(indices[-1]) + 1, dtype=np.int64) * width_ns, indices


def _spread(values: Floats, indices: Numbers, count: int) -> Floats:
    matrix = np.full((len(values), count), np.nan, dtype=np.float32)
    matrix[:, indices] = values
    return matrix


def _with_gaps(times_ns: Instants, values: Floats, interval_ns: int) -> Curves:
    """Insert a NaN at each gap between samples."""
    distances = np.diff(times_ns)
    usual_ns = max(interval_ns, int(np.median(distances)) if len(distances) else 0)
    gaps = np.flatnonzero(distances > _GAP * usual_ns)
    times_ns = np.insert(times_ns, gaps + 1, times_ns[gaps] + usual_ns)
    values = np.insert(values, gaps + 1, np.float32(np.nan), axis=1)
    return Curves(0, times_ns, values, values, values)
