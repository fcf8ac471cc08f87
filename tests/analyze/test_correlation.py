"""Correlation of series, and means per interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.correlation import correlation, means_by_interval

_REALS = st.floats(-1e6, 1e6)
_PAIRS = st.lists(st.tuples(_REALS, _REALS), min_size=2, max_size=40)


@given(_PAIRS)
def test_a_correlation_is_bounded_and_symmetric(
    pairs: list[tuple[float, float]],
) -> None:
    first, second = np.array(pairs).T
    result = correlation(first, second)
    assert np.isnan(result) or -1 <= result <= 1
    assert correlation(second, first) == pytest.approx(result, nan_ok=True)


def test_linear_series_have_a_correlation_of_one_or_minus_one() -> None:
    values = np.array([1.0, 2.0, 5.0, np.nan])
    assert correlation(values, 3 * values + 1) == pytest.approx(1)
    assert correlation(values, -values) == pytest.approx(-1)


def test_constant_series_have_no_correlation() -> None:
    assert np.isnan(correlation(np.ones(4), np.arange(4.0)))
    assert np.isnan(correlation(np.array([1.0]), np.array([2.0])))


@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(-1, 4)), max_size=60))
def test_means_by_interval_are_the_means_of_their_values(rows: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in rows])
    indices = np.array([index for _, index in rows], dtype=np.int64)
    result = means_by_interval(values, indices, 5)
    for position in range(5):
        expected = [value for value, index in rows if index == position]
        mean = np.mean(expected) if expected else np.nan
        assert result[position] == pytest.approx(mean, nan_ok=True)
