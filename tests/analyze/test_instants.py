"""What was the case at some instants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.instants import OUTSIDE, meanwhile, place_of


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 20)), max_size=12),
    st.lists(st.integers(-5, 130), max_size=30),
)
def test_an_instant_lies_in_the_stretch_that_began_last(
    stretches: list[tuple[int, int]], times: list[int]
) -> None:
    stretches.sort()
    starts = np.array([start for start, _ in stretches], dtype=np.int64)
    ends = starts + np.array([length for _, length in stretches], dtype=np.int64)
    result = place_of(np.array(times, dtype=np.int64), starts, ends)
    for time, position in zip(times, result.tolist(), strict=True):
        around = [index for index in range(len(stretches)) if starts[index] <= time < ends[index]]
        assert position == max(around, default=OUTSIDE)


def test_means_are_taken_apart_and_what_is_unknown_is_left_out() -> None:
    values = np.array([1.0, np.nan, 3.0, 10.0, 99.0])
    indices = np.array([0, 0, 1, 1, OUTSIDE])
    result = meanwhile(values, indices, np.array([True, False]))
    assert result is not None
    assert (result.inside, result.inside_count) == (1.0, 1)
    assert (result.outside, result.outside_count) == (6.5, 2)


def test_there_is_nothing_to_compare_where_one_side_is_empty() -> None:
    assert meanwhile(np.array([1.0]), np.array([0]), np.array([True])) is None
