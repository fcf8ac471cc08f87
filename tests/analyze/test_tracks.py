"""Slices that overlap go side by side."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.tracks import side_by_side


def placed(*slices: tuple[int, int]) -> list[int]:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    found: list[int] = side_by_side(starts, ends).tolist()
    return found


def test_what_lies_in_another_or_beside_it_shares_its_row() -> None:
    assert placed((0, 10), (0, 5), (2, 4), (5, 10), (10, 12)) == [0, 0, 0, 0, 0]


def test_what_overlaps_gets_a_row_of_its_own() -> None:
    assert placed((0, 10), (5, 15), (6, 20), (15, 18)) == [0, 1, 2, 0]


def test_nothing_needs_no_rows() -> None:
    assert placed() == []


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=40))
def test_rows_are_always_nested(drawn: list[tuple[int, int]]) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    rows = placed(*slices)
    for row in set(rows):
        mine = [one for one, place in zip(slices, rows, strict=True) if place == row]
        for number, (start, end) in enumerate(mine):
            for other_start, other_end in mine[number + 1 :]:
                assert other_start >= end or other_end <= end, (start, end)


def _order(one: tuple[int, int]) -> tuple[int, int]:
    return one[0], -one[1]
