"""Layout and reduction of the slices of a track."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.tracks import (
    FoldedTrack,
    NamedSlices,
    Pixels,
    SliceTotals,
    dominant_names,
    fold,
    lay_out_track,
    row_of_slices,
)


def rows_of(*slices: tuple[int, int]) -> list[int]:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    result: list[int] = row_of_slices(starts, ends).tolist()
    return result


def test_nested_and_sequential_slices_share_a_row() -> None:
    assert rows_of((0, 10), (0, 5), (2, 4), (5, 10), (10, 12)) == [0, 0, 0, 0, 0]


def test_overlapping_slices_get_separate_rows() -> None:
    assert rows_of((0, 10), (5, 15), (6, 20), (15, 18)) == [0, 1, 2, 0]


def test_no_slices_have_no_rows() -> None:
    assert rows_of() == []


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=40))
def test_rows_are_always_nested(drawn: list[tuple[int, int]]) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    rows = rows_of(*slices)
    for row in set(rows):
        selected = [item for item, index in zip(slices, rows, strict=True) if index == row]
        for number, (start, end) in enumerate(selected):
            for other_start, other_end in selected[number + 1 :]:
                assert other_start >= end or other_end <= end, (start, end)


def _order(item: tuple[int, int]) -> tuple[int, int]:
    return item[0], -item[1]


def lanes_of(*slices: tuple[int, int]) -> list[int]:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    lanes: list[int] = lay_out_track(starts, ends).lanes.tolist()
    return lanes


def test_nested_slices_are_drawn_below_their_parent() -> None:
    assert lanes_of((0, 10), (0, 5), (2, 4), (5, 10), (10, 12)) == [0, 1, 2, 1, 0]


def test_overlapping_slices_are_drawn_below_all_lanes_of_the_first_row() -> None:
    assert lanes_of((0, 10), (2, 4), (5, 15), (6, 8)) == [0, 1, 2, 1]
    assert lanes_of() == []


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=40))
def test_slices_of_a_lane_do_not_overlap(drawn: list[tuple[int, int]]) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    lanes = lanes_of(*slices)
    for lane in set(lanes):
        selected = [item for item, index in zip(slices, lanes, strict=True) if index == lane]
        for (_, end), (start, _) in pairwise(selected):
            assert start >= end


def folded(slices: list[tuple[int, int]], pixels: Pixels) -> FoldedTrack:
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    return fold(starts, ends, np.zeros(len(starts), dtype=np.int64), pixels)


def test_wide_slices_are_kept_and_narrow_ones_become_coverage() -> None:
    result = folded([(0, 10), (10, 12), (15, 20), (22, 24)], Pixels(0, 40, 4))
    assert result.wide.tolist() == [0]
    assert result.narrow == 3
    assert result.covered.round(6).tolist() == [[0.0, 0.7, 0.2, 0.0]]


def test_a_narrow_slice_on_an_edge_covers_part_of_both_columns() -> None:
    result = folded([(8, 13)], Pixels(0, 20, 2))
    assert result.covered.round(6).tolist() == [[0.2, 0.3]]


def test_only_slices_that_overlap_the_range_are_visible() -> None:
    result = folded([(0, 5), (4, 11), (19, 30), (30, 40)], Pixels(10, 20, 10))
    assert result.wide.tolist() == [1, 2]
    result = folded([(9, 11), (19, 21)], Pixels(10, 20, 2))
    assert result.covered.round(6).tolist() == [[0.2, 0.2]]


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 9)), max_size=30),
    st.integers(1, 12),
)
def test_wide_slices_and_coverage_add_up_to_all_slices(
    drawn: list[tuple[int, int]], count: int
) -> None:
    slices = sorted(((start, start + length) for start, length in drawn), key=_order)
    starts, ends = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    pixels = Pixels(0, 120, count)
    result = fold(starts, ends, lay_out_track(starts, ends).lanes, pixels)
    wide = int((ends[result.wide] - starts[result.wide]).sum())
    total = wide + float(result.covered.sum()) * pixels.width_ns
    assert len(result.wide) + result.narrow == len(slices)
    assert total == pytest.approx(sum(end - start for start, end in slices), abs=1e-6)


def test_totals_are_limited_to_the_range_and_sorted_by_self_time() -> None:
    names = np.array([0, 1, 1, 0, 2])
    starts, ends = np.array([0, 10, 20, 30, 90]), np.array([15, 18, 24, 80, 95])
    sums = NamedSlices(names, starts, ends, np.full(5, -1)).totals(12, 50)
    assert sums == [SliceTotals(0, 2, 23, 23, 50), SliceTotals(1, 2, 10, 10, 8)]


def test_self_time_excludes_nested_slices() -> None:
    starts, ends = np.array([0, 10, 12, 20]), np.array([40, 20, 14, 35])
    parents = lay_out_track(starts, ends).parents
    assert parents.tolist() == [-1, 0, 1, 0]
    sums = NamedSlices(np.array([0, 1, 2, 1]), starts, ends, parents).totals(5, 30)
    assert sums == [
        SliceTotals(1, 2, 20, 18, 15),
        SliceTotals(0, 1, 25, 5, 40),
        SliceTotals(2, 1, 2, 2, 2),
    ]


def test_the_name_that_covers_most_of_a_cell_is_dominant() -> None:
    starts = np.array([0, 10, 40, 55, 120], dtype=np.int64)
    ends = np.array([10, 40, 50, 60, 125], dtype=np.int64)
    names = np.array([7, 3, 7, 7, 9], dtype=np.int64)
    pixels = Pixels(0, 300, 3)
    lanes = np.zeros(5, dtype=np.int64)
    dominant = dominant_names(starts, ends, lanes, names, pixels)
    assert dominant is not None
    assert dominant.tolist() == [[3, 9, -1]]


def test_many_names_are_not_compared() -> None:
    starts = np.arange(100, dtype=np.int64)
    lanes = np.zeros(100, dtype=np.int64)
    assert dominant_names(starts, starts + 1, lanes, starts, Pixels(0, 100, 3)) is None
    few = dominant_names(starts, starts + 1, lanes, starts % 16, Pixels(0, 100, 3))
    assert few is not None
