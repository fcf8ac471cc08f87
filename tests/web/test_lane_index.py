"""Lane index: views match a count of all intervals, however they were added."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonde.records.ranges import TimeRange
from sonde.web.intervals import Intervals, Lane
from sonde.web.lane_index import LaneIndex

_BEGAN_NS = 1_790_000_000 * 10**9
_LANES = (Lane("phase", "forward", "train"),)


def _intervals(pairs: list[tuple[int, int]]) -> Intervals:
    starts_ns = np.array([_BEGAN_NS + start for start, _ in pairs], dtype=np.int64)
    lasted_ns = np.array([length for _, length in pairs], dtype=np.int64)
    steps = np.arange(len(pairs), dtype=np.int64)
    numbers = np.zeros(len(pairs), dtype=np.int32)
    return Intervals(_LANES, numbers, starts_ns, starts_ns + lasted_ns, steps)


_pairs = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 500) | st.integers(0, 9_000)), min_size=1
)


@given(st.lists(_pairs, min_size=1, max_size=4), st.integers(0, 9_000), st.integers(50, 4_000))
def test_a_view_counts_draws_and_covers_every_interval_inside(
    chunks: list[list[tuple[int, int]]], first: int, length: int
) -> None:
    index, pixels = LaneIndex(), 50
    for chunk in chunks:
        index.add(_intervals(chunk))
    start, end = _BEGAN_NS + first, _BEGAN_NS + first + length
    visible = index.view(TimeRange(start, end), pixels, max_wide=1000)

    intervals = [
        (_BEGAN_NS + begun, _BEGAN_NS + begun + lasted)
        for chunk in chunks
        for begun, lasted in chunk
    ]
    inside = [(a, b) for a, b in intervals if a < end and b > start]
    wide = sorted(pair for pair in inside if pair[1] - pair[0] > length / pixels)
    assert visible.count == len(inside)
    assert visible.total_ns == sum(min(b, end) - max(a, start) for a, b in inside)
    drawn = zip(visible.wide.starts_ns.tolist(), visible.wide.ends_ns.tolist(), strict=True)
    assert sorted(drawn) == wide
    assert visible.wide.starts_ns.tolist() == [a for a, _ in wide]
    narrow = [pair for pair in inside if pair[1] - pair[0] <= length / pixels]
    assert (visible.cover is None) == (not narrow)
    if visible.cover is not None:
        edges = start + np.rint(np.arange(pixels + 1) * length / pixels).astype(np.int64)
        for pixel, share in enumerate(visible.cover.tolist()):
            left_edge, right_edge = int(edges[pixel]), int(edges[pixel + 1])
            used = sum(max(0, min(b, right_edge) - max(a, left_edge)) for a, b in narrow)
            assert share == min(1.0, used / (right_edge - left_edge))


def test_too_many_wide_intervals_become_coverage() -> None:
    index = LaneIndex()
    index.add(_intervals([(100 * number, 50) for number in range(10)]))
    visible = index.view(TimeRange(_BEGAN_NS, _BEGAN_NS + 1000), 100, max_wide=9)
    assert not len(visible.wide.starts_ns)
    assert visible.cover is not None
    assert visible.cover.sum() == 50.0


def test_many_small_additions_make_few_runs() -> None:
    index = LaneIndex()
    for number in range(1000):
        index.add(_intervals([(10 * number, 5)]))
    assert len(index._runs) <= 11
    assert index.view(TimeRange(_BEGAN_NS, _BEGAN_NS + 10_000), 10, 5).count == 1000


def test_weeks_of_short_intervals_add_up_to_the_nanosecond() -> None:
    week_ns = 7 * 86_400 * 10**9
    step_ns = week_ns // 100_000
    index = LaneIndex()
    index.add(_intervals([(number * step_ns, 12_345) for number in range(100_000)]))
    assert index.view(TimeRange(_BEGAN_NS, _BEGAN_NS + week_ns), 4096, 10).total_ns == 1_234_500_000
