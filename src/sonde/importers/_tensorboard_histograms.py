"""Histograms of TensorBoard as statistics of a tensor."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from sonde.store.statistics import BINS, bin_edges, encode_histogram
from sonde.tfevents.events import HistogramBuckets, Summary

_EDGES = bin_edges()
_ZERO = 1e-11  # the writer of TensorBoard puts zeros into a bucket of about this size
_MAX_COUNT = 1 << 60

Bucket = tuple[float, float, float]  # lower edge, upper edge, count


def buckets_of(summary: Summary) -> HistogramBuckets | None:
    """The histogram of a summary: a message, or a table of edges and counts; else None."""
    if summary.histogram is not None:
        return summary.histogram
    array = summary.array
    if array is None or "histograms" not in summary.plugins or array.dtype.kind != "f":
        return None
    if array.ndim != 2 or array.shape[1] != 3 or not array.size:
        return None
    rows = [row for row in array.tolist() if row[2] > 0]
    limits, counts = ([row[0] for row in rows[:1]] + [row[1] for row in rows]), [0.0]
    counts += [row[2] for row in rows]
    middles = [(low + high) / 2 for low, high, _ in rows]
    return HistogramBuckets(
        minimum=min((row[0] for row in rows), default=math.nan),
        maximum=max((row[1] for row in rows), default=math.nan),
        count=sum(counts),
        total=sum(middle * row[2] for middle, row in zip(middles, rows, strict=True)),
        sum_of_squares=sum(middle**2 * row[2] for middle, row in zip(middles, rows, strict=True)),
        limits=tuple(limits),
        counts=tuple(counts),
    )


def statistics_of(histogram: HistogramBuckets) -> tuple[Any, ...]:
    """A row of statistics; sums of absolute values are estimated from the buckets.

    Raises:
        ValueError: The histogram is damaged.
    """
    if len(histogram.limits) != len(histogram.counts) or not 0 <= histogram.count < _MAX_COUNT:
        raise ValueError("a histogram has an impossible size")
    buckets = list(_clipped(histogram))
    zeros = sum(count for low, high, count in buckets if _is_zero(low, high))
    others = [bucket for bucket in buckets if not _is_zero(*bucket[:2])]
    absolute = sum(abs(low + high) / 2 * count for low, high, count in others)
    return (
        round(histogram.count),
        0,
        0,
        round(zeros),
        histogram.minimum,
        histogram.maximum,
        math.nan,
        histogram.total,
        histogram.sum_of_squares,
        absolute,
        encode_histogram(_counts_of(others)),
    )


def _clipped(histogram: HistogramBuckets) -> Iterator[Bucket]:
    """The non-empty buckets, between the minimum and the maximum."""
    lower = [-math.inf, *histogram.limits]
    for low, high, count in zip(lower, histogram.limits, histogram.counts, strict=False):
        edges = max(low, histogram.minimum), min(high, histogram.maximum)
        if count > 0 and all(map(math.isfinite, (*edges, count))):
            yield (*(edges if edges[0] <= edges[1] else (edges[1], edges[1])), count)


def _is_zero(low: float, high: float) -> bool:
    return -_ZERO < low <= 0 <= high < _ZERO


def _counts_of(buckets: Sequence[Bucket]) -> list[int]:
    """The counts of Sonde's bins; the count of a bucket is divided by the width of the overlap."""
    shares = [0.0] * BINS
    for low, high, count in buckets:
        for index, share in _overlaps(low, high):
            shares[index] += count * share
    # rounded so that the sum stays the same
    sums = [0.0]
    for share in shares:
        sums.append(sums[-1] + share)
    return [round(late) - round(early) for early, late in pairwise(sums)]


def _overlaps(low: float, high: float) -> Iterator[tuple[int, float]]:
    """The bins that overlap with an interval, and the share of each."""
    first, last = _bin_at(low), _bin_at(high)
    width = high - low
    if first == last or width <= 0:
        yield last, 1.0
        return
    for index in range(first, last + 1):
        start, end = max(_EDGES[index], low), min(_EDGES[index + 1], high)
        start = low if index == first else start
        end = high if index == last else end
        yield index, max(end - start, 0.0) / width


def _bin_at(value: float) -> int:
    """The bin of a value; bins include their edge next to the smaller magnitude."""
    index = bisect_left(_EDGES, value) if value < 0 else bisect_right(_EDGES, value)
    return min(max(index - 1, 0), BINS - 1)
