"""Clocks of two nodes, from what their workers did together."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sonde.analyze.skew import Meetings, offset_from_ends, offset_from_meetings

if TYPE_CHECKING:
    from sonde.records.arrays import IntArray

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND


def met(offset_ns: int, late_ns: int = 0, count: int = 200, exchange_ns: int = 300_000) -> Meetings:
    """The other node is late by so much at every meeting, and its clock ahead by the offset."""
    random = np.random.default_rng(7)
    came: IntArray = np.arange(count, dtype=np.int64) * SECOND
    other_came = came + late_ns + random.integers(0, MILLISECOND, count)
    last = np.maximum(came, other_came)
    remaining = last + random.integers(exchange_ns // 2, exchange_ns, count)
    second_left = last + random.integers(exchange_ns // 2, exchange_ns, count)
    return Meetings(came, remaining, other_came + offset_ns, second_left + offset_ns)


@pytest.mark.parametrize("offset_ns", [0, 40 * MILLISECOND, -3 * SECOND])
@pytest.mark.parametrize("late_ns", [0, 30 * MILLISECOND])
def test_the_offset_lies_within_the_stated_error(offset_ns: int, late_ns: int) -> None:
    result = offset_from_meetings(met(offset_ns, late_ns))
    assert result is not None
    assert abs(result.offset_ns - offset_ns) <= result.error_ns < MILLISECOND
    assert result.meetings == 200


def test_a_slow_exchange_makes_the_error_larger() -> None:
    quick, slow = offset_from_meetings(met(0)), offset_from_meetings(met(0, exchange_ns=10**8))
    assert quick is not None
    assert slow is not None
    assert slow.error_ns > 10 * quick.error_ns


def test_a_clock_that_drifts_gets_an_offset_from_the_middle() -> None:
    straight = met(0)
    drift = np.linspace(0, 100 * MILLISECOND, len(straight)).astype(np.int64)
    drifting = Meetings(
        straight.came_ns,
        straight.left_ns,
        straight.other_came_ns + drift,
        straight.other_left_ns + drift,
    )
    result = offset_from_meetings(drifting)
    assert result is not None
    assert result.error_ns > 10 * MILLISECOND


def test_two_meetings_are_too_few() -> None:
    assert offset_from_meetings(met(5, count=2)) is None
    assert offset_from_ends(np.array([1, 2]), np.array([1, 2])) is None


def test_steps_that_end_together_tell_it_too() -> None:
    random = np.random.default_rng(3)
    ends = np.arange(100, dtype=np.int64) * SECOND
    remaining_names = ends + 7 * MILLISECOND + random.integers(-MILLISECOND, MILLISECOND, 100)
    result = offset_from_ends(ends, remaining_names)
    assert result is not None
    assert abs(result.offset_ns - 7 * MILLISECOND) <= result.error_ns < 2 * MILLISECOND
