"""Repeated log lines of `sonde ui`."""

import logging

from sonde.cli.dashboard.log_lines import OncePerMinute


def record(text: str, seconds: float) -> logging.LogRecord:
    result = logging.LogRecord("sonde", logging.WARNING, "x.py", 1, text, (), None)
    result.created = seconds
    return result


def test_repeated_line_is_shown_once_a_minute_with_its_count() -> None:
    lines = OncePerMinute()
    assert lines.filter(record("a look at a job failed", 0.0))
    assert not any(lines.filter(record("a look at a job failed", second)) for second in range(60))
    assert lines.filter(record("another", 30.0))
    later = record("a look at a job failed", 61.0)
    assert lines.filter(later)
    assert later.getMessage() == "a look at a job failed (repeated 60 times)"


def test_different_lines_are_limited_too() -> None:
    lines = OncePerMinute()
    shown = sum(lines.filter(record(f"answer {number} failed", 1.0)) for number in range(1000))
    assert shown == 100
