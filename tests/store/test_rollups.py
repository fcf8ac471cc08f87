"""Roll-ups match numpy for each bucket, however the samples are split and joined."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Instants, Rollup, coarsen, join, pyramid_widths, roll_up

WIDTH = 10
FLOATS = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))
TIMES = st.lists(st.integers(0, 500), min_size=1, max_size=40).map(
    lambda times: np.array(sorted(times), dtype=np.int64)
)


@st.composite
def samples(draw: st.DrawFn, series: int = 2) -> tuple[Instants, Floats]:
    times = draw(TIMES)
    values = draw(hnp.arrays(np.float32, (series, len(times)), elements=FLOATS))
    return times, values


def assert_same(rollup: Rollup, expected: Rollup) -> None:
    assert rollup.width_ns == expected.width_ns
    np.testing.assert_array_equal(rollup.starts_ns, expected.starts_ns)
    np.testing.assert_array_equal(rollup.minimum, expected.minimum)
    np.testing.assert_array_equal(rollup.maximum, expected.maximum)
    np.testing.assert_array_equal(rollup.count, expected.count)
    np.testing.assert_allclose(rollup.mean, expected.mean, rtol=1e-5, atol=1)


@given(samples())
@settings(max_examples=100)
def test_a_bucket_matches_numpy(data: tuple[Instants, Floats]) -> None:
    times, values = data

    rollup = roll_up(times, values, WIDTH)

    assert rollup.starts_ns.tolist() == sorted({int(time) // WIDTH * WIDTH for time in times})
    for bucket, start in enumerate(rollup.starts_ns):
        inside = values[:, times // WIDTH * WIDTH == start]
        for row, measured in enumerate(item[~np.isnan(item)] for item in inside):
            assert rollup.count[row, bucket] == len(measured)
            if len(measured):
                assert rollup.minimum[row, bucket] == measured.min()
                assert rollup.maximum[row, bucket] == measured.max()
                expected = measured.astype(np.float64).mean()
                assert rollup.mean[row, bucket] == pytest.approx(expected, rel=1e-5, abs=1e-5)
            else:
                assert np.isnan([rollup.minimum[row, bucket], rollup.mean[row, bucket]]).all()


@given(samples())
@settings(max_examples=60)
def test_coarser_buckets_can_be_computed_from_finer_ones(
    data: tuple[Instants, Floats],
) -> None:
    assert_same(coarsen(roll_up(*data, WIDTH), 5 * WIDTH), roll_up(*data, 5 * WIDTH))


@given(samples(), st.data())
@settings(max_examples=60)
def test_any_split_joins_to_the_same_roll_up_in_any_order(
    complete: tuple[Instants, Floats], data: st.DataObject
) -> None:
    times, values = complete
    cuts = sorted(data.draw(st.lists(st.integers(0, len(times)), max_size=4)))
    edges = [0, *cuts, len(times)]
    pieces = [
        roll_up(times[first:last], values[:, first:last], WIDTH) for first, last in pairwise(edges)
    ]

    joined = join(data.draw(st.permutations(pieces)), WIDTH, len(values))

    assert_same(joined, roll_up(times, values, WIDTH))


@given(samples(), st.integers(-20, 520), st.integers(-20, 520))
@settings(max_examples=60)
def test_buckets_within_a_range_are_those_that_overlap_it(
    data: tuple[Instants, Floats], start: int, end: int
) -> None:
    rollup = roll_up(*data, WIDTH)

    result = rollup.within(TimeRange(start, end)).starts_ns.tolist()

    touching = [s for s in rollup.starts_ns.tolist() if s + WIDTH > start and s < end]
    assert result == (touching if end > start - WIDTH else [])


def test_infinite_values_are_kept_without_warnings() -> None:
    values = np.array([[np.inf, -np.inf, 1.0], [np.inf, 1.0, 2.0]], dtype=np.float32)

    rollup = roll_up(np.array([1, 2, 3], dtype=np.int64), values, WIDTH)
    twice = join([rollup, rollup], WIDTH, 2)

    assert rollup.maximum[:, 0].tolist() == [np.inf, np.inf]
    assert np.isnan(twice.mean[0, 0])
    assert twice.mean[1, 0] == np.inf


def test_a_missing_series_has_no_values() -> None:
    rollup = roll_up(np.array([1, 2]), np.ones((1, 2), dtype=np.float32), WIDTH)

    chosen = rollup.select([0, -1])

    assert chosen.count.tolist() == [[2], [0]]
    assert np.isnan(chosen.mean[1]).all()
    assert rollup.count.tolist() == [[2]]


def test_no_samples_make_an_empty_roll_up() -> None:
    nothing = roll_up(np.empty(0, dtype=np.int64), np.empty((3, 0), dtype=np.float32), WIDTH)

    assert nothing.mean.shape == (3, 0)
    assert coarsen(nothing, 50).mean.shape == (3, 0)
    assert join([], WIDTH, 3).mean.shape == (3, 0)


@pytest.mark.parametrize(
    ("interval_seconds", "widths"),
    [
        (0.1, [1, 10, 60, 600, 3600]),
        (0.5, [10, 60, 600, 3600]),
        (60.0, [600, 3600]),
    ],
)
def test_levels_are_stored_if_they_are_much_coarser_than_the_samples(
    interval_seconds: float, widths: list[int]
) -> None:
    times = np.arange(100, dtype=np.int64) * int(interval_seconds * NANOSECONDS)

    assert pyramid_widths(times) == tuple(width * NANOSECONDS for width in widths)


def test_a_single_sample_has_no_levels() -> None:
    assert pyramid_widths(np.array([5])) == ()
