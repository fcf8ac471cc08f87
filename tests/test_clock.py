"""The clock: monotonic times with a fixed anchor, written as ISO 8601."""

import threading
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.clock import (
    SystemClock,
    from_iso,
    iso,
    local_stamp,
    process_cpu_seconds,
    thread_cpu_seconds,
    wall_offset_ns,
)


def test_now_is_the_wall_clock_of_this_machine() -> None:
    before = time.time_ns()
    now = SystemClock().now_ns()
    assert before - 10_000_000 <= now <= time.time_ns() + 10_000_000


def test_times_advance_evenly_when_the_system_clock_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    before_ns = clock.now_ns()
    real = time.time_ns
    for hours in (-5, 3, -1000):
        monkeypatch.setattr(time, "time_ns", lambda hours=hours: real() + hours * 3600 * 10**9)
        after_ns = clock.now_ns()
        assert 0 <= after_ns - before_ns < 60 * 10**9
        assert clock.jump_seconds() == pytest.approx(hours * 3600, abs=1)
        before_ns = after_ns


def test_clocks_with_the_same_anchor_agree() -> None:
    first = SystemClock()
    second = SystemClock(first.anchor_ns)
    assert first.now_ns() <= second.now_ns() <= first.now_ns()
    assert abs(wall_offset_ns() - first.anchor_ns) < 10**9


def test_waiting_ends_with_the_event_or_the_timeout() -> None:
    clock = SystemClock()
    event = threading.Event()
    assert clock.wait(event, 0.001) is False
    event.set()
    assert clock.wait(event, 60) is True


def test_process_and_thread_cpu_time_grow_with_work() -> None:
    process, thread = process_cpu_seconds(), thread_cpu_seconds()
    sum(range(200_000))
    assert process_cpu_seconds() > process
    assert thread_cpu_seconds() > thread


def test_an_instant_is_written_in_utc_with_microseconds() -> None:
    assert iso(1_763_193_600_123_456_789) == "2025-11-15T08:00:00.123456Z"
    assert iso(0) == "1970-01-01T00:00:00.000000Z"


@given(st.integers(0, 4_000_000_000 * 10**6))
def test_writing_and_reading_an_instant_is_exact_to_the_microsecond(microseconds: int) -> None:
    assert from_iso(iso(microseconds * 1000)) == microseconds * 1000


def test_a_time_can_have_another_zone_or_none() -> None:
    assert from_iso("2025-11-15T10:00:00+02:00") == from_iso("2025-11-15T08:00:00Z")
    assert from_iso("2025-11-15T08:00:00") == from_iso("2025-11-15T08:00:00Z")


def test_a_timestamp_is_sortable_local_time() -> None:
    instant = 1_763_193_600 * 10**9
    moment = datetime.fromtimestamp(1_763_193_600, UTC).astimezone()
    assert local_stamp(instant) == moment.strftime("%Y%m%d-%H%M%S")
    assert local_stamp(instant) < local_stamp(instant + 10**9)
