"""Series over a window, as many points as a picture has columns: never more, never by chance."""

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

_GAP = 3.0  # so many times the usual distance between samples is a hole, which is shown
Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Curves:
    """Some series: lowest, mean and highest as (series, point), at the same instants."""

    width_ns: int  # of a bucket; 0: each point is one sample
    times_ns: Instants  # of buckets their middle
    minimum: Floats
    mean: Floats
    maximum: Floats

    def over(self, rows: Sequence[int]) -> dict[str, Floats]:
        """One series, or the mean of several with the lowest and the highest of them."""
        if len(rows) == 1:
            row = rows[0]
            return {"min": self.minimum[row], "mean": self.mean[row], "max": self.maximum[row]}
        if not rows:
            nothing = np.full(len(self.times_ns), np.nan, dtype=np.float32)
            return {"min": nothing, "mean": nothing, "max": nothing}
        chosen = np.asarray(rows)
        known = ~np.isnan(self.mean[chosen])
        total = np.where(known, self.mean[chosen], 0).sum(axis=0, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (total / known.sum(axis=0)).astype(np.float32)
        return {
            "min": np.fmin.reduce(self.minimum[chosen], axis=0),
            "mean": mean,
            "max": np.fmax.reduce(self.maximum[chosen], axis=0),
        }


def read_curves(
    reader: SystemReader,
    series: Sequence[Series],
    within: TimeRange,
    most: int,
    interval_seconds: float,
) -> Curves:
    """Samples where each has a column of its own, else buckets; holes are there as NaN."""
    span_ns = (within.end_ns or 0) - (within.start_ns or 0)
    if span_ns <= most * interval_seconds * NANOSECONDS:
        times_ns, values = reader.samples(series, within)
        if len(times_ns) <= 2 * most:
            return _with_holes(times_ns, values, round(interval_seconds * NANOSECONDS))
    found = reader.buckets(series, most, within)
    starts_ns, places = regular(found.starts_ns, found.width_ns)
    lowest, mean, highest = (
        _spread(one, places, len(starts_ns)) for one in (found.minimum, found.mean, found.maximum)
    )
    return Curves(found.width_ns, starts_ns + found.width_ns // 2, lowest, mean, highest)


def regular(starts_ns: Instants, width_ns: int) -> tuple[Instants, Numbers]:
    """Every bucket from the first to the last, and the places of those that hold something."""
    if not len(starts_ns):
        return starts_ns, np.empty(0, dtype=np.int64)
    places = (starts_ns - starts_ns[0]) // width_ns
    return starts_ns[0] + np.arange(int(places[-1]) + 1, dtype=np.int64) * width_ns, places


def _spread(values: Floats, places: Numbers, count: int) -> Floats:
    whole = np.full((len(values), count), np.nan, dtype=np.float32)
    whole[:, places] = values
    return whole


def _with_holes(times_ns: Instants, values: Floats, interval_ns: int) -> Curves:
    """A NaN after each sample that the next one follows late."""
    distances = np.diff(times_ns)
    usual_ns = max(interval_ns, int(np.median(distances)) if len(distances) else 0)
    holes = np.flatnonzero(distances > _GAP * usual_ns)
    times_ns = np.insert(times_ns, holes + 1, times_ns[holes] + usual_ns)
    values = np.insert(values, holes + 1, np.float32(np.nan), axis=1)
    return Curves(0, times_ns, values, values, values)
