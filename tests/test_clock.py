"""Time: one line that no wall clock can bend."""

import time

import pytest

from sonde.clock import NANOSECONDS, SystemClock, from_iso, iso


def test_instants_go_on_evenly_when_the_wall_clock_is_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    before_ns = clock.now_ns()
    real = time.time_ns
    for hours in (-5, 3, -1000):
        monkeypatch.setattr(time, "time_ns", lambda hours=hours: real() + hours * 3600 * 10**9)
        after_ns = clock.now_ns()
        assert 0 <= after_ns - before_ns < 60 * NANOSECONDS
        assert clock.jump_seconds() == pytest.approx(hours * 3600, abs=1)
        before_ns = after_ns


def test_an_instant_survives_being_written_as_people_do() -> None:
    instant_ns = 1_700_000_000_123_456_000

    assert iso(instant_ns) == "2023-11-14T22:13:20.123456Z"
    assert from_iso(iso(instant_ns)) == instant_ns


def test_a_text_without_a_zone_is_utc() -> None:
    assert from_iso("2023-11-14T22:13:20") == 1_700_000_000 * NANOSECONDS
    assert from_iso("2023-11-15T00:13:20+02:00") == 1_700_000_000 * NANOSECONDS
