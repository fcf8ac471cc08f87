"""Gaps between samples whose interval changes."""

import numpy as np
import pytest

from sonde.analyze.tick_gaps import fill_between, gaps_between

SECOND = 1_000_000_000


def times(*distances: float) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.round(np.cumsum([0, *distances]) * SECOND).astype(np.int64)


def gaps(*distances: float, interval: float = 0.5) -> list[int]:
    found = gaps_between(times(*distances), round(interval * SECOND))
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.1), (0.1, 0.5), (0.5, 60), (60, 0.1)])
def test_a_changed_interval_is_not_a_gap(first: float, second: float) -> None:
    assert gaps(*[first] * 20, *[second] * 20, interval=second) == []


def test_the_first_sample_after_a_change_to_a_long_interval_is_not_a_gap() -> None:
    assert gaps(*[0.5] * 20, 60, interval=60) == []


def test_a_pause_is_a_gap_before_and_after_a_change() -> None:
    assert gaps(*[0.5] * 10, 20, *[0.5] * 10, *[0.1] * 10, 3, *[0.1] * 10) == [10, 31]


def test_missed_and_late_samples_are_not_gaps() -> None:
    assert gaps(*[0.5] * 10, 1.0, 0.3, 1.4, *[0.5] * 10) == []


def test_one_sample_or_none_has_no_gaps() -> None:
    assert gaps() == []
    assert len(gaps_between(np.empty(0, dtype=np.int64), SECOND)) == 0


def test_a_metric_read_less_often_is_filled_with_the_sample_before_but_not_over_a_gap() -> None:
    nan = np.nan
    often = [0, 1, 2, 3, 4, 5, 6, nan, 30, 31, 32, 33, 34, 35]
    seldom = [0, nan, 2, nan, 4, nan, 6, nan, 30, nan, 32, nan, 34, nan]
    at = np.array([0, 1, 2, 3, 4, 5, 6, 7, 30, 31, 32, 33, 34, 35]) * SECOND
    filled = fill_between(np.array([often, seldom], dtype=np.float32), at, SECOND)
    assert filled[0].tolist() == pytest.approx(often, nan_ok=True)
    expected = [0, 0, 2, 2, 4, 4, 6, nan, 30, 30, 32, 32, 34, nan]
    assert filled[1].tolist() == pytest.approx(expected, nan_ok=True)


def test_a_series_without_samples_stays_empty() -> None:
    values = np.full((2, 4), np.nan, dtype=np.float32)
    assert np.isnan(fill_between(values, times(1, 1, 1), SECOND)).all()
