"""How numbers and moments are written for people: always with a unit, never NaN."""

import math
from datetime import datetime

UNKNOWN = "–"

_PREFIXES = ("", "k", "M", "G", "T", "P")
_SYMBOLS = {"percent": "%", "celsius": "°C", "watts": "W", "mhz": "MHz", "per_second": "/s"}


def duration(seconds: float | None) -> str:
    """A stretch of time, in the units people use."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    days, hours, minutes = whole // 86_400, whole % 86_400 // 3600, whole % 3600 // 60
    if days:
        return f"{days} d {hours:02d} h"
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {whole % 60:02d} s"


def short_time(seconds: float) -> str:
    """A stretch of time of which milliseconds matter."""
    # what three digits would round up to a thousand takes the next unit
    if seconds >= 0.9995:
        return duration(seconds) if seconds >= 60 else f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 0.9995e-3 else f"{1e6 * seconds:.3g} µs"


def cost(cpu_seconds: float, percent: float | None) -> str:
    """What watching costs; of a short job there is no share to tell."""
    if percent is None:
        return f"{cpu_seconds:.2f} s of CPU time"
    return f"{percent:.2f} % of a core ({cpu_seconds:.1f} s)"


def size(count: float | None) -> str:
    """Bytes with a prefix."""
    if count is None or math.isnan(count):
        return UNKNOWN
    prefix = 0
    # 999.96 would be written as 1000.0: it takes the next prefix
    while abs(count) >= (999.5 if prefix == 0 else 999.95) and prefix < len(_PREFIXES) - 1:
        count /= 1000
        prefix += 1
    return f"{count:.1f} {_PREFIXES[prefix]}B" if prefix else f"{count:.0f} B"


def counted(count: float, noun: str, plural: str = "") -> str:
    """So many of something, in the right number."""
    said = f"{count:,.0f}" if abs(count) >= 1000 else f"{count:g}"
    return f"{said} {noun if count == 1 else plural or f'{noun}s'}"


def rate(bytes_per_second: float | None) -> str:
    """Bytes per second with a prefix."""
    text = size(bytes_per_second)
    return text if text == UNKNOWN else f"{text}/s"


def percent(value: float | None, digits: int = 0) -> str:
    """A share of the whole."""
    return UNKNOWN if value is None or math.isnan(value) else f"{value:.{digits}f} %"


def quantity(value: float | None, unit: str) -> str:
    """A value of a metric, with the unit that the metric is stored in written for people."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if unit == "bytes":
        return size(value)
    if unit == "bytes_per_second":
        return rate(value)
    if unit == "percent":
        return percent(value, digits=1)
    symbol = _SYMBOLS.get(unit, unit)
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{number} {symbol}".rstrip()


def local_time(text: str | None) -> str:
    """An ISO instant as the clock on the wall shows it, with its zone."""
    return _local(text, "%Y-%m-%d %H:%M:%S %Z")


def local_hour(text: str | None) -> str:
    """Only the time of day."""
    return _local(text, "%H:%M:%S")


def _local(text: str | None, pattern: str) -> str:
    return datetime.fromisoformat(text).astimezone().strftime(pattern) if text else ""
