"""Instants in intervals, and samples inside and outside of chosen intervals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.instants import OUTSIDE, compare_intervals, interval_indices


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 20)), max_size=12),
    st.lists(st.integers(-5, 130), max_size=30),
)
def test_an_instant_belongs_to_the_interval_that_started_last(
    intervals: list[tuple[int, int]], times: list[int]
) -> None:
    intervals.sort()
    starts = np.array([start for start, _ in intervals], dtype=np.int64)
    ends = starts + np.array([length for _, length in intervals], dtype=np.int64)
    result = interval_indices(np.array(times, dtype=np.int64), starts, ends)
    for time, position in zip(times, result.tolist(), strict=True):
        matches = [index for index in range(len(intervals)) if starts[index] <= time < ends[index]]
        assert position == max(matches, default=OUTSIDE)


def test_means_inside_and_outside_ignore_unknown_samples() -> None:
    values = np.array([1.0, np.nan, 3.0, 10.0, 99.0])
    indices = np.array([0, 0, 1, 1, OUTSIDE])
    result = compare_intervals(values, indices, np.array([True, False]))
    assert result is not None
    assert (result.inside, result.inside_count) == (1.0, 1)
    assert (result.outside, result.outside_count) == (6.5, 2)


def test_there_is_no_comparison_if_one_side_is_empty() -> None:
    assert compare_intervals(np.array([1.0]), np.array([0]), np.array([True])) is None
