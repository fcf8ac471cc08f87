"""Values as they are written in tables and beside bars: always with a unit."""

import math

from sonde.formats import UNKNOWN, format_duration, format_local_time, format_value
from sonde.records.chart import Cell

_SHORTEST = 1e-6  # below it nothing is measured
_LEAST_SHARE = 0.05  # percent: below it, it would be written as nought
_SYMBOLS = {"percent": "%", "bytes_per_second": "bytes/s", "celsius": "°C", "watts": "W"}


def written(value: Cell, unit: str = "") -> str:
    """One value for a person."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return format_local_time(value) if unit == "time" else value
    return _number(value, unit) if unit else _plain(value)


def symbol(unit: str) -> str:
    """A unit as it stands beside a number."""
    return _SYMBOLS.get(unit, unit.replace("_", " "))


def _number(value: float, unit: str) -> str:
    if unit == "seconds":
        return _time(value)
    if unit == "points":
        return f"{round(value, 1) + 0.0:+.1f} points"  # nought has no sign
    if unit == "percent" and 0 < value < _LEAST_SHARE:
        return "< 0.1%"
    return format_value(value, unit)


def _time(seconds: float) -> str:
    if not seconds:
        return "0 s"
    if 0 < seconds < _SHORTEST:
        return "< 1 µs"
    return format_duration(seconds)


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
