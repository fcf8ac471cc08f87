"""Histograms of groups with common edges."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.histograms import count_between, edges_for

_GROUPS = st.lists(st.lists(st.floats(-1e9, 1e9), max_size=30), min_size=1, max_size=4)


@given(_GROUPS, st.integers(1, 20))
def test_every_finite_value_is_in_one_bin(groups: list[list[float]], bins: int) -> None:
    arrays = [np.array(group, dtype=np.float64) for group in groups]
    edges = edges_for(arrays, bins)
    assert len(edges) == bins + 1
    assert (np.diff(edges) > 0).all()
    for array in arrays:
        assert count_between(array, edges).sum() == len(array)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=40))
def test_values_that_are_not_finite_are_in_no_bin(values: list[float]) -> None:
    edges = np.array([-1.0, 0.0, 1.0])
    inside = [value for value in values if -1 <= value <= 1]
    assert count_between(np.array(values, dtype=np.float64), edges).sum() == len(inside)
