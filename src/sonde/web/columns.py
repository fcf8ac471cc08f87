"""Series as the columns of a picture: all of one width, side by side, none left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Rollup


@dataclass(frozen=True)
class Columns:
    """Some series by columns of one width; NaN where nothing was measured."""

    start_ns: int
    width_ns: int
    minimum: Floats
    mean: Floats
    maximum: Floats

    def by(self, name: str) -> Floats:
        """One of `mean`, `max` and `min`, as (series, column)."""
        return {"mean": self.mean, "max": self.maximum, "min": self.minimum}[name]

    def document(self) -> dict[str, Any]:
        """Where the columns are."""
        return {
            "start": self.start_ns / NANOSECONDS,
            "width": self.width_ns / NANOSECONDS,
            "count": self.mean.shape[1],
        }


def columns_of(
    reader: SystemReader,
    series: Sequence[Series],
    within: TimeRange,
    most: int,
    interval_seconds: float,
) -> Columns:
    """As many columns as fit; none so narrow that a sample would leave holes beside it."""
    span_ns = (within.end_ns or 0) - (within.start_ns or 0)
    fitting = int(span_ns / (interval_seconds * NANOSECONDS)) + 2
    found = reader.buckets(series, max(2, min(most, fitting)), within)
    return spread(found, within, interval_seconds)


def spread(found: Rollup, within: TimeRange, interval_seconds: float) -> Columns:
    """Buckets put where they belong in a window; a column that a sample just missed is filled."""
    width_ns = found.width_ns
    first = (within.start_ns or 0) // width_ns
    count = max(1, -(-(within.end_ns or 0) // width_ns) - first)
    places = found.starts_ns // width_ns - first
    whole = []
    for values in (found.minimum, found.mean, found.maximum):
        one = np.full((len(values), count), np.nan, dtype=np.float32)
        one[:, places] = values
        whole.append(one)
    if width_ns < 2 * interval_seconds * NANOSECONDS:
        whole = [_bridged(one) for one in whole]
    return Columns(first * width_ns, width_ns, *whole)


def _bridged(values: Floats) -> Floats:
    """A single hole between two known columns takes the value before it."""
    known = ~np.isnan(values)
    hole = np.zeros_like(known)
    hole[:, 1:-1] = ~known[:, 1:-1] & known[:, :-2] & known[:, 2:]
    before = np.roll(values, 1, axis=1)
    return np.where(hole, before, values)
