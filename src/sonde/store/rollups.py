"""Roll-ups: minimum, mean, maximum and count per time bucket.

Buckets start at multiples of their width since the epoch, so buckets of neighboring segments align.
Only buckets with samples exist; a series without a value in a bucket has count 0 and NaN values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange

# A level is stored only if it is this much coarser than the samples; finer ones exceed raw data.
_MIN_SAMPLES_PER_BUCKET = 8
_WIDTHS_SECONDS = (1, 10, 60, 600, 3600)
_WORTH_STRIDES = 32  # numpy's reduction is as fast for larger groups

Floats = npt.NDArray[np.float32]
Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rollup:
    """Buckets of one width: starts as (bucket), the rest as (series, bucket)."""

    width_ns: int
    starts_ns: Instants
    minimum: Floats
    mean: Floats
    maximum: Floats
    count: npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Memory size."""
        arrays = (self.starts_ns, self.minimum, self.mean, self.maximum, self.count)
        return sum(array.nbytes for array in arrays)

    def select(self, rows: Sequence[int]) -> "Rollup":
        """Select series by index; -1 selects a missing series."""
        indices = np.asarray(rows, dtype=np.intp)
        chosen = self._map(lambda values: values[indices])
        if (indices < 0).any():
            chosen.minimum[indices < 0] = np.nan
            chosen.mean[indices < 0] = np.nan
            chosen.maximum[indices < 0] = np.nan
            chosen.count[indices < 0] = 0
        return chosen

    def within(self, range_: TimeRange) -> "Rollup":
        """The buckets that overlap a time range."""
        first = 0
        last = len(self.starts_ns)
        if range_.start_ns is not None:
            first = int(np.searchsorted(self.starts_ns, range_.start_ns - self.width_ns, "right"))
        if range_.end_ns is not None:
            last = int(np.searchsorted(self.starts_ns, range_.end_ns, "left"))
        return self.cut(slice(first, max(first, last)))

    def cut(self, buckets: slice | npt.NDArray[Any]) -> "Rollup":
        """Select buckets."""
        return self._map(lambda values: values[:, buckets], self.starts_ns[buckets])

    def fill(self, rows: Sequence[int], source: "Rollup", source_rows: Sequence[int]) -> None:
        """Copy series from another roll-up with the same buckets."""
        for name in ("minimum", "mean", "maximum", "count"):
            getattr(self, name)[rows] = getattr(source, name)[source_rows]

    def _map(
        self,
        change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
        starts_ns: Instants | None = None,
    ) -> "Rollup":
        return Rollup(
            self.width_ns,
            self.starts_ns if starts_ns is None else starts_ns,
            change(self.minimum),
            change(self.mean),
            change(self.maximum),
            change(self.count),
        )


def roll_up(times_ns: Instants, values: Floats, width_ns: int) -> Rollup:
    """Aggregate samples, sorted by time, into buckets; values are (series, tick)."""
    starts, firsts = _groups(times_ns, width_ns)
    if not len(starts):
        return _empty(width_ns, values.shape[0])
    is_known = ~np.isnan(values)
    if is_known.all():  # the common case
        sizes = np.diff(firsts, append=len(times_ns))
        count = np.tile(sizes.astype(np.int64, copy=False), (len(values), 1))
        total = _sums(values, firsts)
    else:
        count = np.add.reduceat(is_known, firsts, axis=1, dtype=np.int64)
        total = _sums(np.where(is_known, values, 0), firsts)
    return Rollup(
        width_ns,
        starts,
        _reduce(np.fmin, values, firsts),
        _divide(total, count),
        _reduce(np.fmax, values, firsts),
        count,
    )


def coarsen(rollup: Rollup, width_ns: int) -> Rollup:
    """Aggregate into wider buckets."""
    starts, firsts = _groups(rollup.starts_ns, width_ns)
    if not len(starts):
        return _empty(width_ns, rollup.mean.shape[0])
    count = _reduce(np.add, rollup.count, firsts)
    weighted = np.where(rollup.count > 0, rollup.mean.astype(np.float64) * rollup.count, 0)
    return Rollup(
        width_ns,
        starts,
        _reduce(np.fmin, rollup.minimum, firsts),
        _divide(_sums(weighted, firsts), count),
        _reduce(np.fmax, rollup.maximum, firsts),
        count,
    )


def join(rollups: Sequence[Rollup], width_ns: int, series: int) -> Rollup:
    """Concatenate roll-ups of the same series and width, and merge shared buckets."""
    if not rollups:
        return _empty(width_ns, series)
    joined = rollups[0] if len(rollups) == 1 else _concatenated(rollups, width_ns)
    steps = np.diff(joined.starts_ns)
    if (steps < 0).any():
        order = np.argsort(joined.starts_ns, kind="stable")
        joined = joined.cut(order)
        steps = np.diff(joined.starts_ns)
    return _merge_shared_buckets(joined, steps) if (steps == 0).any() else joined


def _concatenated(rollups: Sequence[Rollup], width_ns: int) -> Rollup:
    return Rollup(
        width_ns,
        np.concatenate([rollup.starts_ns for rollup in rollups]),
        np.concatenate([rollup.minimum for rollup in rollups], axis=1),
        np.concatenate([rollup.mean for rollup in rollups], axis=1),
        np.concatenate([rollup.maximum for rollup in rollups], axis=1),
        np.concatenate([rollup.count for rollup in rollups], axis=1),
    )


def _merge_shared_buckets(rollup: Rollup, steps: Instants) -> Rollup:
    """Merge adjacent buckets with the same start; other buckets are copied."""
    is_first = np.concatenate([[True], steps != 0])
    is_shared = ~is_first | np.concatenate([steps == 0, [False]])
    merged = coarsen(rollup.cut(is_shared), rollup.width_ns)
    distinct = rollup.cut(is_first)
    indices = np.searchsorted(distinct.starts_ns, merged.starts_ns)
    for name in ("minimum", "mean", "maximum", "count"):
        getattr(distinct, name)[:, indices] = getattr(merged, name)
    return distinct


def pyramid_widths(times_ns: Instants) -> tuple[int, ...]:
    """The bucket widths, in nanoseconds, to store for samples of this density."""
    if len(times_ns) < 2:
        return ()
    interval_ns = float(np.median(np.diff(times_ns)))
    return tuple(
        width * NANOSECONDS
        for width in _WIDTHS_SECONDS
        if width * NANOSECONDS >= _MIN_SAMPLES_PER_BUCKET * interval_ns
    )


def _groups(times_ns: Instants, width_ns: int) -> tuple[Instants, npt.NDArray[np.intp]]:
    """The start of each non-empty bucket, and the index of its first sample."""
    buckets = times_ns // width_ns
    firsts = np.flatnonzero(np.diff(buckets, prepend=buckets[:1] - 1))
    return buckets[firsts] * width_ns, firsts


def _sums(values: npt.NDArray[Any], firsts: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # infinities of both signs have no mean
        return _reduce(np.add, values.astype(np.float64, copy=False), firsts)


def _reduce(
    operation: np.ufunc, values: npt.NDArray[Any], firsts: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    """Like `reduceat`, but ten times faster if all inner groups have the same size."""
    sizes = np.diff(firsts[1:])
    if len(sizes) < 2 or sizes[0] > _WORTH_STRIDES or (sizes != sizes[0]).any():
        return np.asarray(operation.reduceat(values, firsts, axis=1))
    begin, end, size = int(firsts[1]), int(firsts[-1]), int(sizes[0])
    middle = values[:, begin:end:size].copy()
    for offset in range(begin + 1, begin + size):
        operation(middle, values[:, offset:end:size], out=middle)
    outer = operation.reduceat(values[:, :begin], [0], axis=1)
    last = operation.reduceat(values[:, end:], [0], axis=1)
    return np.concatenate([outer, middle, last], axis=1)


def _divide(total: npt.NDArray[np.float64], count: npt.NDArray[np.int64]) -> Floats:
    means = np.full(total.shape, np.nan, dtype=np.float32)
    np.divide(total, count, out=means, where=count > 0, casting="unsafe")
    return means


def blank(width_ns: int, starts_ns: Instants, series: int) -> Rollup:
    """Buckets without values."""
    shape = (series, len(starts_ns))
    unknown = np.full(shape, np.nan, dtype=np.float32)
    counts = np.zeros(shape, dtype=np.int64)
    return Rollup(width_ns, starts_ns, unknown, unknown.copy(), unknown.copy(), counts)


def _empty(width_ns: int, series: int) -> Rollup:
    return blank(width_ns, np.empty(0, dtype=np.int64), series)
