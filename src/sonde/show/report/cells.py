"""Values as they are written in tables and beside bars: always with a unit."""

import math

from sonde.show.specs import Cell
from sonde.show.units import UNKNOWN, duration, local_time, quantity, short_time

_SYMBOLS = {"percent": "%", "bytes_per_second": "bytes/s", "celsius": "°C", "watts": "W"}


def written(value: Cell, unit: str = "") -> str:
    """One value for a person."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return local_time(value) if unit == "time" else value
    if unit == "seconds":
        return _time(value)
    if unit == "points":
        return f"{value:+.1f} points"
    return quantity(value, unit) if unit else _plain(value)


def symbol(unit: str) -> str:
    """A unit as it stands beside a number."""
    return _SYMBOLS.get(unit, unit.replace("_", " "))


def _time(seconds: float) -> str:
    if not seconds:
        return "0 s"
    return duration(seconds) if seconds >= 60 else short_time(seconds)


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
