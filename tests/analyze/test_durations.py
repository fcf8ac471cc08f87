"""Statistics and histograms of durations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.durations import durations_of, shared_histogram
from sonde.analyze.outliers import outlier_limit
from sonde.records.arrays import FloatArray

seconds = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60).map(np.array)


@given(seconds)
def test_statistics_equal_those_of_numpy(
    values: FloatArray,
) -> None:
    durations = durations_of(values)
    assert durations.count == len(values)
    assert durations.mean == pytest.approx(values.mean())
    assert durations.deviation == pytest.approx(values.std())
    expected = np.percentile(values, (0, 50, 95, 99, 100))
    numbers = (durations.minimum, durations.p50, durations.p95, durations.p99, durations.maximum)
    assert numbers == pytest.approx(tuple(expected))


def test_statistics_of_no_durations_are_nan() -> None:
    assert durations_of(np.empty(0)).count == 0
    assert np.isnan(durations_of(np.empty(0)).mean)
    assert outlier_limit(np.empty(0)) == float("inf")


def test_several_outliers_hardly_change_the_limit() -> None:
    values = np.array([0.1] * 50 + [5.0] * 5)
    assert outlier_limit(values) == pytest.approx(0.15)
    assert (values > outlier_limit(values)).sum() == 5


@given(seconds)
def test_at_least_half_of_the_values_are_not_outliers(
    values: FloatArray,
) -> None:
    assert (values <= outlier_limit(values)).sum() >= len(values) / 2


@given(st.lists(seconds, min_size=1, max_size=4), st.floats(1e-6, 1e6))
def test_every_value_is_in_one_bin(groups: list[FloatArray], highest: float) -> None:
    edges, counts = shared_histogram(groups, 7, highest)
    assert len(edges) == 8
    assert (np.diff(edges) > 0).all()
    assert [int(row.sum()) for row in counts] == [len(group) for group in groups]


def test_bins_of_nearly_equal_values_have_distinct_edges() -> None:
    edges, [counts] = shared_histogram([np.array([1.0, 1e-06])], 7, 1.0000000000000002e-06)
    assert (np.diff(edges) > 0).all()
    assert counts.sum() == 2
