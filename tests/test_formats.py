import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sonde.formats import (
    format_bytes,
    format_count,
    format_duration,
    format_exact_percent,
    format_factor,
    format_local_clock,
    format_local_time,
    format_percent,
    format_value,
    pluralize,
)

# The dashboard passes the same cases: ui/src/format.test.ts.
CASES = json.loads((Path(__file__).parent / "golden" / "formats.json").read_text())
FORMATTERS: dict[str, Callable[..., str]] = {
    "duration": format_duration,
    "bytes": format_bytes,
    "percent": format_percent,
    "count": format_count,
    "plural": pluralize,
    "stamp": format_local_time,
    "clock": format_local_clock,
    "value": format_value,
}


@contextmanager
def time_zone(zone: str) -> Iterator[None]:
    """Set the local time zone; the C library has to read TZ again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def utc() -> Iterator[None]:
    with time_zone("UTC"):
        yield


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [(name, case[:-1], case[-1]) for name, cases in CASES.items() for case in cases],
)
@pytest.mark.usefixtures("utc")
def test_values_are_formatted_as_in_the_dashboard(
    name: str, arguments: list[Any], text: str
) -> None:
    assert FORMATTERS[name](*arguments) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_missing_number_is_a_dash(value: float | None) -> None:
    assert format_duration(value) == format_bytes(value) == format_percent(value) == "–"


def test_columns_have_a_fixed_number_of_digits() -> None:
    assert format_percent(28.44, 1) == "28.4%"


@pytest.mark.parametrize(
    ("threshold", "text"),
    [(1.5, "1.5%"), (100 * 0.07, "7%"), (99.95, "99.95%"), (0.001, "0.001%"), (100.0, "100%")],
)
def test_a_threshold_is_not_rounded(threshold: float, text: str) -> None:
    assert format_exact_percent(threshold) == text


def test_nearly_all_is_not_rounded_to_all() -> None:
    assert format_exact_percent(99.987, digits=2) == "99.99%"
    assert format_exact_percent(100.0, digits=2) == "100%"


def test_times_are_local_and_name_their_zone() -> None:
    with time_zone("EST+5"):
        assert format_local_time("2026-11-15T08:00:00.123456Z") == "2026-11-15 03:00:00 EST"


def test_nouns_agree_with_their_count() -> None:
    assert pluralize(0, "step") == "0 steps"
    assert pluralize(1, "call") == "1 call"
    assert pluralize(1_615, "step") == "1,615 steps"
    assert pluralize(2, "process", "processes") == "2 processes"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1.00×"), (1.034, "1.03×"), (1.3, "1.3×"), (2.34, "2.3×"), (12.4, "12×"), (None, "–")],
)
def test_speed_ups_have_two_digits(value: float | None, text: str) -> None:
    assert format_factor(value) == text
