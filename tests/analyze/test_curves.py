"""Curves in buckets of steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.curves import bucket_values


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.integers(1, 20))
def test_every_value_is_in_one_bucket(values: list[float], count: int) -> None:
    steps = np.arange(len(values), dtype=np.int64)
    edges = np.linspace(0, len(values), count + 1)
    result = bucket_values(steps, np.array(values), edges)
    indices = np.clip(np.searchsorted(edges, steps, side="right") - 1, 0, count - 1)
    for index in range(count):
        expected = np.array(values)[indices == index]
        if len(expected):
            assert result.mean[index] == pytest.approx(expected.mean(), abs=1e-6)
            assert (result.low[index], result.high[index]) == (expected.min(), expected.max())
        else:
            assert np.isnan(result.mean[index])


def test_values_that_are_not_finite_are_ignored() -> None:
    result = bucket_values(
        np.array([0, 1, 2]), np.array([1.0, np.inf, np.nan]), np.array([0.0, 1.0, 3.0])
    )
    assert result.mean[0] == 1.0
    assert np.isnan(result.mean[1])
