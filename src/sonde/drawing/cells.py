"""Values of table cells and bar labels as text, with their units."""

import math

from sonde.formats import (
    UNKNOWN,
    format_count,
    format_local_time,
    format_value,
)
from sonde.records.chart import Cell

_MIN_SECONDS = 1e-6  # the resolution of measurements
_SYMBOLS = {"percent": "%", "bytes_per_second": "bytes/s", "celsius": "°C", "watts": "W"}


def format_cell(value: Cell, unit: str = "") -> str:
    """A cell as text."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return format_local_time(value) if unit == "time" else value
    if not unit:
        return format_count(value) if isinstance(value, int) else f"{value:.4g}"
    return _format_number(value, unit)


def unit_symbol(unit: str) -> str:
    """The symbol of a unit in a column of units."""
    return _SYMBOLS.get(unit, unit.replace("_", " "))


def _format_number(value: float, unit: str) -> str:
    if unit == "points":
        return f"{round(value, 1) + 0.0:+.1f} points"  # adding zero removes the sign of -0.0
    if unit == "seconds" and 0 < value < _MIN_SECONDS:
        return "< 1 µs"
    return format_value(value, unit)
