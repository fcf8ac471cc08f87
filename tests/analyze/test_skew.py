"""Clock offsets between two nodes."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sonde.analyze.skew import Meetings, offset_from_ends, offset_from_meetings

if TYPE_CHECKING:
    from sonde.records.arrays import IntArray

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND


def meetings(
    offset_ns: int, late_ns: int = 0, count: int = 200, exchange_ns: int = 300_000
) -> Meetings:
    """Return meetings that the other node enters late, with its clock ahead by the offset."""
    random = np.random.default_rng(7)
    entered: IntArray = np.arange(count, dtype=np.int64) * SECOND
    other_entered = entered + late_ns + random.integers(0, MILLISECOND, count)
    last = np.maximum(entered, other_entered)
    left = last + random.integers(exchange_ns // 2, exchange_ns, count)
    other_left = last + random.integers(exchange_ns // 2, exchange_ns, count)
    return Meetings(entered, left, other_entered + offset_ns, other_left + offset_ns)


@pytest.mark.parametrize("offset_ns", [0, 40 * MILLISECOND, -3 * SECOND])
@pytest.mark.parametrize("late_ns", [0, 30 * MILLISECOND])
def test_the_offset_lies_within_the_stated_error(offset_ns: int, late_ns: int) -> None:
    result = offset_from_meetings(meetings(offset_ns, late_ns))
    assert result is not None
    assert abs(result.offset_ns - offset_ns) <= result.error_ns < MILLISECOND
    assert result.meetings == 200


def test_a_slow_exchange_makes_the_error_larger() -> None:
    quick, slow = (
        offset_from_meetings(meetings(0)),
        offset_from_meetings(meetings(0, exchange_ns=10**8)),
    )
    assert quick is not None
    assert slow is not None
    assert slow.error_ns > 10 * quick.error_ns


def test_a_clock_that_drifts_gets_an_offset_from_the_middle() -> None:
    steady = meetings(0)
    drift = np.linspace(0, 100 * MILLISECOND, len(steady)).astype(np.int64)
    drifting = Meetings(
        steady.entered_ns,
        steady.left_ns,
        steady.other_entered_ns + drift,
        steady.other_left_ns + drift,
    )
    result = offset_from_meetings(drifting)
    assert result is not None
    assert result.error_ns > 10 * MILLISECOND


def test_two_meetings_are_too_few() -> None:
    assert offset_from_meetings(meetings(5, count=2)) is None
    assert offset_from_ends(np.array([1, 2]), np.array([1, 2])) is None


def test_steps_that_end_together_give_the_offset() -> None:
    random = np.random.default_rng(3)
    ends = np.arange(100, dtype=np.int64) * SECOND
    other_ends = ends + 7 * MILLISECOND + random.integers(-MILLISECOND, MILLISECOND, 100)
    result = offset_from_ends(ends, other_ends)
    assert result is not None
    assert abs(result.offset_ns - 7 * MILLISECOND) <= result.error_ns < 2 * MILLISECOND
