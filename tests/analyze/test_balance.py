"""Comparison of the utilization of devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.balance import BINS, distances, furthest_from_mean, quartiles_of, shares
from sonde.records.arrays import FloatArray

utilization = st.lists(st.floats(0, 100), min_size=1, max_size=40).map(np.array)


@given(utilization)
def test_shares_add_up_to_one(values: FloatArray) -> None:
    result = shares(values)
    assert len(result) == BINS
    assert result.sum() == pytest.approx(1.0)


@given(st.lists(utilization, min_size=2, max_size=5))
def test_distances_are_a_metric(
    devices: list[FloatArray],
) -> None:
    result = distances([shares(device) for device in devices])
    assert (result >= 0).all()
    assert (result <= 1).all()
    assert np.diag(result) == pytest.approx(0.0)
    assert result == pytest.approx(result.T)
    for middle in range(len(devices)):
        through = result[:, [middle]] + result[[middle], :]
        assert (result <= through + 1e-9).all()


def test_the_distance_of_an_idle_and_a_busy_device_is_nine_bins_of_ten() -> None:
    result = distances([shares(np.zeros(5)), shares(np.full(5, 100.0))])
    assert result[0, 1] == pytest.approx(0.9)


@given(utilization)
def test_quartiles_equal_those_of_numpy(
    values: FloatArray,
) -> None:
    quartiles = quartiles_of(np.append(values, np.nan))
    assert quartiles.count == len(values)
    expected = np.percentile(values, (0, 5, 25, 50, 75, 95, 100))
    numbers = (
        quartiles.minimum,
        quartiles.p5,
        quartiles.p25,
        quartiles.p50,
        quartiles.p75,
        quartiles.p95,
        quartiles.maximum,
    )
    assert numbers == pytest.approx(tuple(expected))


def test_the_histogram_furthest_from_the_mean_is_found() -> None:
    equal = [shares(np.full(5, 95.0)) for _ in range(6)]
    result = furthest_from_mean([*equal, shares(np.zeros(5)), *equal], 1)
    assert result == [6]
    assert furthest_from_mean(equal, 3) == [0, 1, 2]
