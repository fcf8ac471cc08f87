"""What was the case at some instants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.during import OUTSIDE, meanwhile, place_of


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
    found = place_of(np.array(times, dtype=np.int64), starts, ends)
    for time, place in zip(times, found.tolist(), strict=True):
        around = [one for one in range(len(stretches)) if starts[one] <= time < ends[one]]
        assert place == max(around, default=OUTSIDE)


def test_means_are_taken_apart_and_what_is_unknown_is_left_out() -> None:
    values = np.array([1.0, np.nan, 3.0, 10.0, 99.0])
    places = np.array([0, 0, 1, 1, OUTSIDE])
    found = meanwhile(values, places, np.array([True, False]))
    assert found is not None
    assert (found.inside, found.inside_count) == (1.0, 1)
    assert (found.outside, found.outside_count) == (6.5, 2)


def test_there_is_nothing_to_compare_where_one_side_is_empty() -> None:
    assert meanwhile(np.array([1.0]), np.array([0]), np.array([True])) is None
