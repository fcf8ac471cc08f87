"""Robust statistics of noisy series."""

import numpy as np
import pytest

from sonde.analyze.robust import longest_run, median_of, quantile_of


@pytest.mark.parametrize("count", [1, 2, 3, 10, 49, 50])
def test_medians_and_quantiles_equal_those_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    assert median_of(values) == np.median(values)
    assert median_of((1e9 * values).astype(np.int64)) == np.median((1e9 * values).astype(np.int64))
    for quantile in (0.0, 0.1, 0.5, 0.75, 1.0):
        assert quantile_of(np.sort(values), quantile) == np.quantile(values, quantile)


def test_the_median_with_a_nan_is_nan() -> None:
    assert np.isnan(median_of([1.0, np.nan, 3.0]))


def test_longest_run_returns_start_and_length() -> None:
    assert longest_run(np.array([True, False, True, True, False])) == (2, 2)
    assert longest_run(np.array([False, False])) == (0, 0)
