"""Mergeable statistics: reductions match numpy for any split; precision of the histogram."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.store.statistics import (
    BINS,
    COLUMNS,
    HISTOGRAM,
    QUANTILES,
    REDUCTIONS,
    bin_edges,
    bin_of,
    decode_histogram,
    encode_histogram,
    merge,
    quantiles,
    reduce_columns,
)

singles = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)
tensors = st.lists(singles | st.sampled_from([0.0, -0.0, 1e-45, 3e38, math.nan, -math.inf]))
finite_tensors = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50)

EDGES = bin_edges()


def statistics_of(values: Sequence[float]) -> dict[str, Any]:
    """Compute the statistics value by value, from their definition."""
    finite = [value for value in values if math.isfinite(value)]
    counts = [0] * BINS
    for value in finite:
        if value:
            counts[bin_of(value)] += 1
    return {
        "count": len(values),
        "nans": sum(map(math.isnan, values)),
        "infinities": sum(map(math.isinf, values)),
        "zeros": finite.count(0.0),
        "minimum": min(finite, default=math.nan),
        "maximum": max(finite, default=math.nan),
        "absolute_minimum": min(map(abs, finite), default=math.nan),
        "sum": float(sum(map(Fraction, finite))),
        "sum_of_squares": float(sum(Fraction(value) ** 2 for value in finite)),
        "sum_of_absolutes": float(sum(map(Fraction, map(abs, finite)))),
        HISTOGRAM: encode_histogram(counts),
    }


def by_numpy(name: str, values: Sequence[float]) -> float:
    given_values = np.array(values, dtype=np.float64)
    finite = given_values[np.isfinite(given_values)]
    magnitudes = np.abs(finite)
    if name in ("nan_count", "inf_count", "zero_fraction"):
        result = {
            "nan_count": np.isnan(given_values).sum(),
            "inf_count": np.isinf(given_values).sum(),
            "zero_fraction": (given_values == 0).mean() if values else math.nan,
        }[name]
        return float(result)
    if name == "l2_norm":
        return float(np.sqrt((finite**2).sum()))
    if name in ("sum", "l1_norm", "abs_sum"):
        return float((finite if name == "sum" else magnitudes).sum())
    if not len(finite):
        return math.nan
    of = magnitudes if name.startswith("abs_") else finite
    called = {"std": "std", "variance": "var"}.get(name.removeprefix("abs_"))
    return float(getattr(np, called or name.removeprefix("abs_"))(of))


def tolerance(name: str, values: Sequence[float]) -> float:
    """Return the allowed rounding error, relative to the sum of magnitudes or of squares."""
    finite = np.array([value for value in values if math.isfinite(value)] or [0.0])
    if name.endswith("std"):
        return float(1e-7 * np.abs(finite).max())
    if name.endswith("variance"):
        return float(1e-13 * (finite**2).max())
    return float(1e-12 * np.abs(finite).sum())


EXACT = sorted(set(REDUCTIONS) - {"median", "quantiles"})


@given(values=tensors)
def test_every_reduction_matches_numpy(values: list[float]) -> None:
    row = statistics_of(values)

    for name in EXACT:
        expected = pytest.approx(by_numpy(name, values), abs=tolerance(name, values), nan_ok=True)
        assert reduce_columns(name, row) == expected, name


@given(column_values=st.lists(tensors, max_size=6))
def test_columns_give_the_same_as_single_rows(column_values: list[list[float]]) -> None:
    rows = [statistics_of(values) for values in column_values]
    columns = {key: np.array([row[key] for row in rows]) for key in (*COLUMNS, HISTOGRAM)}

    for name in REDUCTIONS:
        result = np.asarray(reduce_columns(name, columns))
        expected = [reduce_columns(name, row) for row in rows]
        assert len(result) == len(rows), name
        np.testing.assert_allclose(result.reshape(-1), np.array(expected, dtype=float).reshape(-1))


@given(values=tensors, at=st.integers(0, 100))
def test_any_split_merges_to_the_same_statistics(values: list[float], at: int) -> None:
    merged = merge(statistics_of(values[:at]), statistics_of(values[at:]))

    for key, expected in _settled(statistics_of(values)).items():
        if key.startswith("sum"):
            assert merged[key] == pytest.approx(expected, abs=tolerance(key, values))
        else:
            np.testing.assert_equal(_settled(merged)[key], expected)


@given(first=tensors, second=tensors)
def test_the_order_of_merging_does_not_matter(first: list[float], second: list[float]) -> None:
    forward, reverse = statistics_of(first), statistics_of(second)

    assert repr(_settled(merge(forward, reverse))) == repr(_settled(merge(reverse, forward)))


def _settled(columns: dict[str, Any]) -> dict[str, Any]:
    """Replace -0.0 by 0.0, which is the same extreme."""
    return {
        key: value + 0.0 if isinstance(value, float) else value for key, value in columns.items()
    }


@given(pairs=st.lists(st.tuples(tensors, tensors), min_size=1, max_size=5))
def test_columns_merge_row_by_row(pairs: list[tuple[list[float], list[float]]]) -> None:
    firsts, seconds = zip(*[map(statistics_of, pair) for pair in pairs], strict=True)
    keys = (*COLUMNS, HISTOGRAM)

    merged = merge(
        {key: np.array([row[key] for row in firsts]) for key in keys},
        {key: np.array([row[key] for row in seconds]) for key in keys},
    )

    for number, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        alone = merge(first, second)
        assert merged[HISTOGRAM][number] == alone[HISTOGRAM]
        for key in COLUMNS:
            np.testing.assert_equal(merged[key][number] + 0.0, alone[key] + 0.0)


@given(counts=st.lists(st.integers(0, 2**40), min_size=BINS, max_size=BINS))
def test_a_histogram_is_decoded_exactly(counts: list[int]) -> None:
    result = decode_histogram(encode_histogram(counts))

    assert [result.get(bin_index, 0) for bin_index in range(BINS)] == counts


def test_an_empty_histogram_is_an_empty_text() -> None:
    assert encode_histogram([0] * BINS) == ""
    assert decode_histogram("") == {}


@given(value=singles.filter(lambda value: math.isfinite(value) and value != 0))
def test_a_value_is_between_the_edges_of_its_bin(value: float) -> None:
    bin_index = bin_of(value)

    low = -math.inf if bin_index == 0 else EDGES[bin_index]
    high = math.inf if bin_index == BINS - 1 else EDGES[bin_index + 1]
    assert low <= value <= high


@given(value=singles.filter(lambda value: math.isfinite(value) and value != 0))
def test_bins_are_symmetric_about_zero(value: float) -> None:
    assert bin_of(value) + bin_of(-value) == BINS - 1


def test_bins_are_half_octaves() -> None:
    assert (bin_of(1.0), bin_of(1.49), bin_of(1.5), bin_of(2.0)) == (208, 208, 209, 210)
    assert (bin_of(2.0**-40), bin_of(1e-45), bin_of(2.0**24), bin_of(3e38)) == (128, 128, 255, 255)
    assert len(EDGES) == BINS + 1
    assert all(low < high for low, high in pairwise(EDGES))


@given(values=finite_tensors, at=st.floats(0, 1))
def test_a_quantile_is_in_the_same_bin_as_the_exact_one(values: list[float], at: float) -> None:
    (result,) = quantiles(statistics_of(values), (at,))

    lower, higher = (np.quantile(values, at, method=side) for side in ("lower", "higher"))
    low = EDGES[bin_of(lower)] if lower else 0.0
    high = EDGES[bin_of(higher) + 1] if higher else 0.0
    assert low <= result <= high
    assert min(values) <= result <= max(values)


@given(values=finite_tensors)
def test_the_lowest_and_highest_quantiles_are_the_extremes(values: list[float]) -> None:
    assert quantiles(statistics_of(values), (0.0, 1.0)) == (min(values), max(values))


@given(values=finite_tensors)
def test_quantiles_ascend_and_include_the_median(values: list[float]) -> None:
    row = statistics_of(values)

    result = reduce_columns("quantiles", row)

    assert list(result) == sorted(result)
    assert result[QUANTILES.index(0.5)] == reduce_columns("median", row)


def test_zeros_are_between_negative_and_positive_values() -> None:
    row = statistics_of([-4.0, 0.0, 0.0, 0.0, 5.0])

    assert quantiles(row, (0.0, 0.3, 0.5, 0.7, 1.0)) == (-4.0, 0.0, 0.0, 0.0, 5.0)


def test_the_median_of_many_values_is_within_one_percent() -> None:
    values = np.random.default_rng(0).normal(1.0, 3.0, 20_000).tolist()

    assert reduce_columns("median", statistics_of(values)) == pytest.approx(1.0, abs=0.05)


def test_without_a_complete_histogram_quantiles_are_nan() -> None:
    complete, without = statistics_of([1.0, 2.0]), {**statistics_of([3.0]), HISTOGRAM: ""}

    assert math.isnan(reduce_columns("median", without))
    assert math.isnan(reduce_columns("median", merge(complete, without)))
    assert reduce_columns("median", statistics_of([0.0, 0.0])) == 0.0


def test_rounding_never_makes_a_variance_negative() -> None:
    row = {**statistics_of([3.0]), "count": 3, "sum": 0.3, "sum_of_squares": 0.03 - 1e-16}

    assert reduce_columns("variance", row) == 0.0
    assert reduce_columns("std", row) == 0.0


def test_overflowing_squares_make_variances_infinite_not_nan() -> None:
    row = {**statistics_of([1.0]), "sum": 1e200, "sum_of_squares": math.inf}
    columns = {key: np.array([value]) for key, value in row.items()}

    assert reduce_columns("std", row) == math.inf
    assert reduce_columns("std", columns).tolist() == [math.inf]
