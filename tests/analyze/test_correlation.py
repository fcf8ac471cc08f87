"""How closely two things go together: bounds, symmetry, and what stays out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.correlation import correlation, means_by_place

_REALS = st.floats(-1e6, 1e6)
_PAIRS = st.lists(st.tuples(_REALS, _REALS), min_size=2, max_size=40)


@given(_PAIRS)
def test_a_correlation_lies_between_its_bounds_and_is_the_same_both_ways(
    pairs: list[tuple[float, float]],
) -> None:
    item, second = np.array(pairs).T
    result = correlation(item, second)
    assert np.isnan(result) or -1 <= result <= 1
    assert correlation(second, item) == pytest.approx(result, nan_ok=True)


def test_what_goes_exactly_together_is_one_and_exactly_apart_minus_one() -> None:
    values = np.array([1.0, 2.0, 5.0, np.nan])
    assert correlation(values, 3 * values + 1) == pytest.approx(1)
    assert correlation(values, -values) == pytest.approx(-1)


def test_what_never_changes_goes_together_with_nothing() -> None:
    assert np.isnan(correlation(np.ones(4), np.arange(4.0)))
    assert np.isnan(correlation(np.array([1.0]), np.array([2.0])))


@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(-1, 4)), max_size=60))
def test_means_of_stretches_are_those_of_their_values(rows: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in rows])
    indices = np.array([index for _, index in rows], dtype=np.int64)
    result = means_by_place(values, indices, 5)
    for position in range(5):
        memory = [value for value, at in rows if at == position]
        assert result[position] == pytest.approx(np.mean(memory) if memory else np.nan, nan_ok=True)
