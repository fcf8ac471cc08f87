"""Metric series over a window, with about one point per pixel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.tick_gaps import fill_between, gaps_between
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Instants


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
    interval_ns = round(interval_seconds * NANOSECONDS)
    if reader.estimated_samples(within) <= max_points:
        times_ns, values = reader.samples(series, within)
        if len(times_ns) <= 2 * max_points:
            return _with_gaps(Curves(0, times_ns, values, values, values), interval_ns)
    rollup = reader.buckets(series, max_points, within)
    width_ns = rollup.width_ns
    middles_ns = rollup.starts_ns + width_ns // 2
    curves = Curves(width_ns, middles_ns, rollup.minimum, rollup.mean, rollup.maximum)
    return _with_gaps(curves, interval_ns)


def _with_gaps(curves: Curves, interval_ns: int) -> Curves:
    """Insert a NaN at each gap; fill metrics that are sampled less often than others."""
    times_ns, interval_ns = curves.times_ns, max(interval_ns, curves.width_ns)
    gaps = np.flatnonzero(gaps_between(times_ns, interval_ns))
    after_ns = np.minimum(times_ns[gaps] + interval_ns, times_ns[gaps + 1] - 1)
    with_gaps_ns = np.insert(times_ns, gaps + 1, after_ns)
    matrices = [
        fill_between(
            np.insert(values, gaps + 1, np.float32(np.nan), axis=1), with_gaps_ns, interval_ns
        )
        for values in (curves.minimum, curves.mean, curves.maximum)
    ]
    return Curves(curves.width_ns, with_gaps_ns, *matrices)
