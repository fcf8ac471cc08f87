"""The mergeable statistics of a tensor, shared by writers and readers.

Counts, extremes and sums over the finite values, and a fixed symmetric histogram of half octaves.
They can be merged over shards, workers and steps, and all reductions are computed from them. The
formulas accept single tensors (plain numbers) and columns (numpy arrays); numpy is loaded only for
columns.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sonde.store.format import STATISTICS, TEXT

# A number, or a numpy column.
Values = Any
Columns = Mapping[str, Values]

HISTOGRAM = "histogram"
_OF_THE_ROW = ("time_ns", "step")
COLUMNS = tuple(
    name for name, code in STATISTICS.columns if code != TEXT and name not in _OF_THE_ROW
)
_MINIMUM_COLUMNS = ("minimum", "absolute_minimum")
_MAXIMUM_COLUMNS = ("maximum",)

# Bins are in ascending order; bins below LEVELS are negative. A level is the exponent and the first
# mantissa bit, so it spans half an octave: [2^e, 1.5·2^e) or [1.5·2^e, 2^(e+1)).
LOWEST_EXPONENT, HIGHEST_EXPONENT = -40, 23
LEVELS = 2 * (HIGHEST_EXPONENT - LOWEST_EXPONENT + 1)
BINS = 2 * LEVELS

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def merge(first: Columns, second: Columns) -> dict[str, Values]:
    """Merge the statistics of two tensors, or of two columns row by row."""
    merged = {name: first[name] + second[name] for name in COLUMNS}
    merged |= {name: _minimum(first[name], second[name]) for name in _MINIMUM_COLUMNS}
    merged |= {name: -_minimum(-first[name], -second[name]) for name in _MAXIMUM_COLUMNS}
    if HISTOGRAM in first and HISTOGRAM in second:
        merged[HISTOGRAM] = _merge_histograms(first[HISTOGRAM], second[HISTOGRAM])
    return merged


def reduce_columns(name: str, columns: Columns) -> Values:
    """Compute a reduction: a number for one tensor, an array for columns.

    Reductions cover the finite values; NaN if there are none. `quantiles` returns the values at
    QUANTILES, as a tuple for one tensor and as an additional axis for columns.
    """
    if isinstance(columns["count"], int | float):
        return _FORMULAS[name](columns)
    np = _numpy()
    with np.errstate(all="ignore"):
        return np.asarray(_FORMULAS[name](columns))


def quantiles(columns: Columns, at: Sequence[float] = QUANTILES) -> Values:
    """Quantiles from the histogram, with the precision of its bins.

    NaN without a histogram, or if only some of the merged tensors have one.
    """
    if isinstance(columns["count"], int | float):
        return _quantiles_of_one(columns, at)
    np = _numpy()
    names = (*COLUMNS, HISTOGRAM)
    rows = zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    row_quantiles = [_quantiles_of_one(dict(zip(names, row, strict=True)), at) for row in rows]
    return np.array(row_quantiles, dtype=np.float64).reshape(len(row_quantiles), len(at))


def bin_of(value: float) -> int:
    """The bin of a finite value that is not zero."""
    mantissa, exponent = math.frexp(abs(value))  # the mantissa lies in [0.5, 1)
    level = 2 * (exponent - 1 - LOWEST_EXPONENT) + (mantissa >= 0.75)
    level = min(max(level, 0), LEVELS - 1)
    return LEVELS - 1 - level if value < 0 else LEVELS + level


def bin_edges() -> list[float]:
    """The BINS + 1 edges in ascending order.

    The bins next to zero extend to zero. The outermost bins also count values beyond their edges.
    """
    magnitudes = [
        math.ldexp(1.0 + 0.5 * (level % 2), LOWEST_EXPONENT + level // 2)
        for level in range(1, LEVELS + 1)
    ]
    return [*(-magnitude for magnitude in reversed(magnitudes)), 0.0, *magnitudes]


def encode_histogram(counts: Iterable[int]) -> str:
    """Encode the counts of non-empty bins as text: `bin:count,bin:count`."""
    return ",".join([f"{bin_index}:{count}" for bin_index, count in enumerate(counts) if count])


def decode_histogram(text: str) -> dict[int, int]:
    """The counts of non-empty bins, by bin, in ascending order."""
    pairs = (pair.split(":") for pair in text.split(",")) if text else ()
    return {int(bin_index): int(count) for bin_index, count in pairs}


def _merge_histograms(first: Values, second: Values) -> Values:
    if not isinstance(first, str):
        return [_merge_histograms(*pair) for pair in zip(first, second, strict=True)]
    counts = decode_histogram(first)
    for bin_index, count in decode_histogram(second).items():
        counts[bin_index] = counts.get(bin_index, 0) + count
    return ",".join(f"{bin_index}:{counts[bin_index]}" for bin_index in sorted(counts))


def _finite(columns: Columns) -> Values:
    return columns["count"] - columns["nans"] - columns["infinities"]


def _mean(columns: Columns) -> Values:
    return _ratio(columns["sum"], _finite(columns))


def _absolute_mean(columns: Columns) -> Values:
    return _ratio(columns["sum_of_absolutes"], _finite(columns))


def _variance(columns: Columns) -> Values:
    return _spread(columns, _mean(columns))


def _absolute_variance(columns: Columns) -> Values:
    return _spread(columns, _absolute_mean(columns))


def _spread(columns: Columns, mean: Values) -> Values:
    """The variance around a mean; rounding errors below zero are clipped."""
    mean_of_squares = _ratio(columns["sum_of_squares"], _finite(columns))
    variance = mean_of_squares - mean * mean
    if isinstance(variance, float):
        return math.inf if mean_of_squares == math.inf else max(variance, 0.0)
    np = _numpy()
    return np.where(mean_of_squares == np.inf, np.inf, np.maximum(variance, 0.0))


def _ratio(sums: Values, counts: Values) -> Values:
    if isinstance(counts, int | float):
        return sums / counts if counts else math.nan
    np = _numpy()
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _root(values: Values) -> Values:
    if isinstance(values, int | float):
        return math.sqrt(values)
    np = _numpy()
    return np.sqrt(values)


def _minimum(first: Values, second: Values) -> Values:
    """The minimum; NaN means no value."""
    if isinstance(first, int | float):
        return second if math.isnan(first) or second < first else first
    np = _numpy()
    return np.fmin(first, second)


def _median(columns: Columns) -> Values:
    medians = quantiles(columns, (0.5,))
    return medians[0] if isinstance(medians, tuple) else medians[:, 0]


def _quantiles_of_one(columns: Columns, at: Sequence[float]) -> tuple[float, ...]:
    intervals, total = _intervals(columns)
    if not total or total != _finite(columns):
        return (math.nan,) * len(at)
    return tuple(_value_at(fraction * (total - 1), total, intervals, columns) for fraction in at)


_Interval = tuple[float, float, int]  # start, end, number of values


def _intervals(columns: Columns) -> tuple[list[_Interval], int]:
    """The non-empty bins and the zeros in ascending order, and the number of values."""
    low, high, zeros = columns["minimum"], columns["maximum"], columns["zeros"]
    counts = decode_histogram(columns[HISTOGRAM])
    intervals = [
        (max(_REACH[bin_index], low), min(_REACH[bin_index + 1], high), count)
        for bin_index, count in counts.items()
    ]
    if zeros:
        intervals.insert(sum(bin_index < LEVELS for bin_index in counts), (0.0, 0.0, zeros))
    return intervals, sum(counts.values()) + zeros


def _value_at(rank: float, total: int, intervals: Iterable[_Interval], columns: Columns) -> float:
    """The value at a rank, assuming that values are uniformly distributed in each bin."""
    low, high = columns["minimum"], columns["maximum"]
    if rank >= total - 1:
        return float(high)
    before, value = 0, low
    for start, end, count in intervals:
        if rank < before + count:
            share = (rank - before + 0.5) / count if rank else 0.0
            value = start + (end - start) * min(share, 1.0)
            break
        before += count
    return float(min(max(value, low), high))


def _numpy() -> Any:
    return import_module("numpy")


_REACH = [-math.inf, *bin_edges()[1:-1], math.inf]

_FORMULAS: dict[str, Callable[[Columns], Values]] = {
    "min": lambda columns: columns["minimum"],
    "max": lambda columns: columns["maximum"],
    "mean": _mean,
    "std": lambda columns: _root(_variance(columns)),
    "variance": _variance,
    "sum": lambda columns: columns["sum"],
    "median": _median,
    "l1_norm": lambda columns: columns["sum_of_absolutes"],
    "l2_norm": lambda columns: _root(columns["sum_of_squares"]),
    "abs_min": lambda columns: columns["absolute_minimum"],
    "abs_max": lambda columns: abs(_minimum(columns["minimum"], -columns["maximum"])),
    "abs_mean": _absolute_mean,
    "abs_std": lambda columns: _root(_absolute_variance(columns)),
    "abs_variance": _absolute_variance,
    "abs_sum": lambda columns: columns["sum_of_absolutes"],
    "nan_count": lambda columns: columns["nans"],
    "inf_count": lambda columns: columns["infinities"],
    "zero_fraction": lambda columns: _ratio(columns["zeros"], columns["count"]),
    "quantiles": quantiles,
}

# All reductions that can be computed from the mergeable statistics.
REDUCTIONS = tuple(_FORMULAS)
