"""Slices that overlap go side by side; what is too narrow to be seen is a share."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.tracks import (
    Folded,
    Named,
    Pixels,
    Sums,
    fold,
    nested,
    side_by_side,
)


def placed(*slices: tuple[int, int]) -> list[int]:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    result: list[int] = side_by_side(starts, ends).tolist()
    return result


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
        mine = [item for item, index in zip(slices, rows, strict=True) if index == row]
        for number, (start, end) in enumerate(mine):
            for other_start, other_end in mine[number + 1 :]:
                assert other_start >= end or other_end <= end, (start, end)


def _order(item: tuple[int, int]) -> tuple[int, int]:
    return item[0], -item[1]


def laned(*slices: tuple[int, int]) -> list[int]:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    lanes: list[int] = nested(starts, ends).lanes.tolist()
    return lanes


def test_what_lies_in_another_is_drawn_below_it() -> None:
    assert laned((0, 10), (0, 5), (2, 4), (5, 10), (10, 12)) == [0, 1, 2, 1, 0]


def test_what_overlaps_is_drawn_below_all_of_the_first_row() -> None:
    assert laned((0, 10), (2, 4), (5, 15), (6, 8)) == [0, 1, 2, 1]
    assert laned() == []


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=40))
def test_nothing_in_a_lane_overlaps(drawn: list[tuple[int, int]]) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    lanes = laned(*slices)
    for lane in set(lanes):
        mine = [item for item, index in zip(slices, lanes, strict=True) if index == lane]
        for (_, end), (start, _) in pairwise(mine):
            assert start >= end


def folded(slices: list[tuple[int, int]], pixels: Pixels) -> Folded:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    return fold(starts, ends, np.zeros(len(starts), dtype=np.int64), pixels)


def test_slices_of_a_column_or_more_are_kept_and_the_rest_is_a_share() -> None:
    result = folded([(0, 10), (10, 12), (15, 20), (22, 24)], Pixels(0, 40, 4))
    assert result.wide.tolist() == [0]
    assert result.narrow == 3
    assert result.covered.round(6).tolist() == [[0.0, 0.7, 0.2, 0.0]]


def test_a_narrow_slice_on_an_edge_covers_a_part_of_both_columns() -> None:
    result = folded([(8, 13)], Pixels(0, 20, 2))
    assert result.covered.round(6).tolist() == [[0.2, 0.3]]


def test_only_what_reaches_into_the_range_is_seen() -> None:
    result = folded([(0, 5), (4, 11), (19, 30), (30, 40)], Pixels(10, 20, 10))
    assert result.wide.tolist() == [1, 2]
    result = folded([(9, 11), (19, 21)], Pixels(10, 20, 2))
    assert result.covered.round(6).tolist() == [[0.2, 0.2]]


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 9)), max_size=30),
    st.integers(1, 12),
)
def test_nothing_is_lost_between_slices_and_shares(
    drawn: list[tuple[int, int]], count: int
) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    pixels = Pixels(0, 120, count)
    result = fold(starts, ends, nested(starts, ends).lanes, pixels)
    wide = int((ends[result.wide] - starts[result.wide]).sum())
    observed = wide + float(result.covered.sum()) * pixels.width_ns
    assert len(result.wide) + result.narrow == len(slices)
    assert observed == pytest.approx(sum(end - start for start, end in slices), abs=1e-6)


def test_sums_are_cut_at_the_range_and_the_most_comes_first() -> None:
    names = np.array([0, 1, 1, 0, 2])
    starts, ends = np.array([0, 10, 20, 30, 90]), np.array([15, 18, 24, 80, 95])
    sums = Named(names, starts, ends, np.full(5, -1)).sums(12, 50)
    assert sums == [Sums(0, 2, 23, 23, 50), Sums(1, 2, 10, 10, 8)]


def test_what_lies_in_a_slice_is_not_its_own_time() -> None:
    starts, ends = np.array([0, 10, 12, 20]), np.array([40, 20, 14, 35])
    parents = nested(starts, ends).parents
    assert parents.tolist() == [-1, 0, 1, 0]
    sums = Named(np.array([0, 1, 2, 1]), starts, ends, parents).sums(5, 30)
    assert sums == [Sums(1, 2, 20, 18, 15), Sums(0, 1, 25, 5, 40), Sums(2, 1, 2, 2, 2)]
