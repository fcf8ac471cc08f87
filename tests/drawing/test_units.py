import math

import pytest

from sonde.drawing.units import cost, counted, duration, local_time, quantity, short_time, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.7, "1.0 kB"),
        (1234, "1.2 kB"),
        (999_960, "1.0 MB"),
        (61e9, "61.0 GB"),
        (2.5e12, "2.5 TB"),
        (4e18, "4000.0 PB"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_a_size_has_a_prefix_that_keeps_it_short(count: float | None, text: str) -> None:
    assert size(count) == text


def test_the_share_of_a_short_job_is_not_told() -> None:
    assert cost(0.25, None) == "0.25 s of CPU time"
    assert cost(3.1, 0.31) == "0.31 % of a core (3.1 s)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (3.21, "3.2 s"),
        (75, "1 min 15 s"),
        (3_660, "1 h 01 min"),
        (200_000, "2 d 07 h"),
    ],
)
def test_a_duration_is_in_the_units_people_use(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.345, "percent", "12.3 %"),
        (2e6, "bytes_per_second", "2.0 MB/s"),
        (612.4, "watts", "612 W"),
        (1980.0, "mhz", "1,980 MHz"),
        (7.0, "", "7"),
        (math.nan, "watts", "–"),
        (None, "bytes", "–"),
    ],
)
def test_every_quantity_has_its_unit_and_none_is_nan(
    value: float | None, unit: str, text: str
) -> None:
    assert quantity(value, unit) == text


def test_people_get_local_time_with_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time  # noqa: PLC0415 — tells the C library that TZ has changed

    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    try:
        assert local_time("2026-11-15T08:00:00.123456Z") == "2026-11-15 03:00:00 EST"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_many_of_something_are_written_out() -> None:
    assert counted(1_234_567, "call") == "1,234,567 calls"
    assert counted(1_615, "step") == "1,615 steps"
    assert counted(1, "call") == "1 call"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9996, "1 s"), (0.999, "999 ms"), (0.0009996, "1 ms"), (5e-6, "5 µs"), (1.25, "1.25 s")],
)
def test_short_times_have_at_most_three_digits(seconds: float, text: str) -> None:
    assert short_time(seconds) == text
