"""Every instant belongs to exactly one interval, however the intervals overlap."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.read.intervals import exclusive_time_ns


def self_times(*stretches: tuple[int, int]) -> list[int]:
    starts = np.array([start for start, _ in stretches], dtype=np.int64)
    ends = np.array([end for _, end in stretches], dtype=np.int64)
    return [int(item) for item in exclusive_time_ns(starts, ends)]


def test_separate_intervals_keep_their_time() -> None:
    assert self_times((0, 10), (10, 15), (20, 21)) == [10, 5, 1]


def test_an_inner_interval_takes_time_from_the_outer_one() -> None:
    assert self_times((0, 100), (10, 50), (20, 30), (60, 70)) == [50, 30, 10, 10]


def test_shared_time_belongs_to_the_later_interval() -> None:
    assert self_times((0, 20), (5, 8), (7, 10)) == [15, 2, 3]


def test_of_two_intervals_with_the_same_start_the_shorter_is_inside() -> None:
    assert self_times((0, 4), (0, 10)) == [4, 6]
    assert self_times((0, 10), (0, 4)) == [6, 4]


def test_of_two_equal_intervals_one_counts() -> None:
    assert sum(self_times((3, 9), (3, 9))) == 6


def test_empty_intervals_have_no_time() -> None:
    assert self_times() == []
    assert self_times((5, 5), (0, 10), (10, 10)) == [0, 10, 0]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12))
def test_exclusive_times_match_a_count_of_every_instant(pairs: list[tuple[int, int]]) -> None:
    stretches = [(start, start + length) for start, length in pairs]
    expected = [0] * len(stretches)
    for instant in range(40):
        over = [
            (start, -end, index)
            for index, (start, end) in enumerate(stretches)
            if start <= instant < end
        ]
        if over:
            expected[max(over)[2]] += 1
    assert self_times(*stretches) == expected
