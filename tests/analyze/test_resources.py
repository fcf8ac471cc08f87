"""Resource usage of a machine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sonde.analyze.resources import (
    count_busy_devices,
    mean_of_devices,
    mean_of_samples,
    spread_of,
    sum_of_devices,
)
from sonde.records.arrays import FloatArray

measured = arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 20)), elements=st.floats(0, 100)
)


@given(measured)
def test_means_and_sums_of_devices_equal_those_of_numpy(
    values: FloatArray,
) -> None:
    assert mean_of_devices(values) == pytest.approx(values.mean(axis=0))
    assert sum_of_devices(values) == pytest.approx(values.sum(axis=0))


def test_devices_without_values_are_ignored() -> None:
    values = np.array([[10.0, np.nan, np.nan], [30.0, 50.0, np.nan]])
    assert mean_of_devices(values)[:2].tolist() == [20.0, 50.0]
    assert np.isnan(mean_of_devices(values)[2])
    assert np.isnan(sum_of_devices(values)[2])


def test_every_known_sample_counts_the_same_in_a_mean() -> None:
    first, second = np.array([[10.0, np.nan], [20.0, 30.0]]), np.array([100.0])
    assert mean_of_samples(first, second) == pytest.approx(40.0)
    assert np.isnan(mean_of_samples())
    assert np.isnan(mean_of_samples(np.full(3, np.nan)))


def test_only_devices_with_a_minimum_utilization_are_busy() -> None:
    values = np.array([[90.0, 95.0], [0.0, 1.0], [np.nan, np.nan]])
    assert count_busy_devices(values) == 1


@given(measured)
def test_percentiles_of_a_spread_are_in_order(values: FloatArray) -> None:
    spread = spread_of(values[0])
    numbers = [spread.minimum, spread.p50, spread.p90, spread.p95, spread.p99, spread.maximum]
    assert numbers == sorted(numbers)
    assert spread.minimum - 1e-9 <= spread.mean <= spread.maximum + 1e-9
