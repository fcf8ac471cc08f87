"""Numbers, units and times as text: the only formatter of terminal, report and messages.

The dashboard has the same functions in `ui/src/format.ts`. Both pass the cases in
`tests/golden/formats.json`.
"""

import math
from collections.abc import Callable
from datetime import datetime

UNKNOWN = "–"

_PREFIXES = ("", "k", "M", "G", "T", "P")
_SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LONG_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
_SYMBOLS = {"celsius": "°C", "watts": "W", "mhz": "MHz", "count": ""}
_ROUNDS_UP = 0.9995  # with three digits, this share of a unit and more is rounded to 1
_ZERO_SECONDS = 1e-12  # rounding errors of arithmetic on instants
_ZERO_PERCENT = 1e-9  # rounding errors of shares
_SMALLEST_PERCENT = 0.005  # with two digits, less is rounded to 0


def format_duration(seconds: float | None) -> str:
    """A duration: 46.6 ms, 8.14 s, 5 min 12 s, 1 h 51 min, 2 d 4 h."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    if size < _ZERO_SECONDS:
        return "0 s"
    return sign + (_short_duration(size) if size < 60 * _ROUNDS_UP else _long_duration(size))


def _short_duration(seconds: float) -> str:
    units = (each for each in _SECOND_UNITS if seconds >= each[0] * _ROUNDS_UP)
    factor, unit = next(units, _SECOND_UNITS[-1])
    return f"{_three_digits(seconds / factor)} {unit}"


def _long_duration(seconds: float) -> str:
    """The two largest units; the smaller one is left out if it is zero."""
    for size, unit, smaller_size, smaller_unit in _LONG_UNITS:
        count, rest = divmod(round(seconds / smaller_size), size // smaller_size)
        if count:
            return f"{count} {unit} {rest} {smaller_unit}" if rest else f"{count} {unit}"
    raise AssertionError(seconds)


def format_bytes(count: float | None) -> str:
    """A size in bytes with a decimal prefix: 12 B, 1.5 kB, 139 GB."""
    if count is None or not math.isfinite(count):
        return UNKNOWN
    return f"{_prefixed(count)}B"


def format_byte_rate(bytes_per_second: float | None) -> str:
    """Bytes per second with a decimal prefix."""
    text = format_bytes(bytes_per_second)
    return text if text == UNKNOWN else f"{text}/s"


def format_percent(value: float | None, digits: int | None = None) -> str:
    """A percentage: 28%, 4.2%, 0.03%, < 0.01%; with fixed digits in columns of a table."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if digits is None:
        size = abs(value)
        if _ZERO_PERCENT < size < _SMALLEST_PERCENT:
            return "< 0.01%" if value > 0 else "> -0.01%"
        digits = 0 if size <= _ZERO_PERCENT or size >= 9.95 else 1 if size >= 0.095 else 2
    return f"{value:.{digits}f}%"


def format_exact_percent(value: float, digits: int = 10) -> str:
    """A percentage that must not be rounded, such as a threshold: 1.5%, 99.95%, 0.001%."""
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def format_factor(value: float | None) -> str:
    """A speed-up or slowdown: 1.05×, 2.3×, 12×."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    digits = 2 if abs(value) < 1.095 else 1 if abs(value) < 9.95 else 0
    return f"{value:.{digits}f}×"


def format_count(count: float) -> str:
    """A whole number with thousands separators: 1,615."""
    return f"{round(count):,}"


def pluralize(count: float, noun: str, plural: str = "") -> str:
    """A count with its noun in the right number: 1 step, 1,615 steps."""
    number = f"{count:g}" if abs(count) < 1000 else format_count(count)
    return f"{number} {noun if count == 1 else plural or f'{noun}s'}"


def format_value(value: float | None, unit: str) -> str:
    """The value of a metric in the unit it is stored in."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if unit in _FORMATTERS:
        return _FORMATTERS[unit](value)
    return f"{_plain(value)} {_SYMBOLS.get(unit, unit)}".rstrip()


def format_local_time(text: str | None) -> str:
    """An ISO instant in the local time zone: 2026-11-15 21:19:29 CET."""
    return _local(text, "%Y-%m-%d %H:%M:%S %Z")


def format_local_minute(text: str | None) -> str:
    """An ISO instant in the local time zone, for narrow tables: 2026-11-15 21:19."""
    return _local(text, "%Y-%m-%d %H:%M")


def format_local_clock(text: str | None) -> str:
    """The time of day of an ISO instant in the local time zone."""
    return _local(text, "%H:%M:%S")


def _local(text: str | None, pattern: str) -> str:
    return datetime.fromisoformat(text).astimezone().strftime(pattern) if text else ""


def _three_digits(value: float) -> str:
    """Three significant digits, without trailing zeros and never in scientific notation."""
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _prefixed(value: float) -> str:
    power = 0
    while abs(value) >= 1000 * _ROUNDS_UP and power < len(_PREFIXES) - 1:
        value /= 1000
        power += 1
    return f"{_three_digits(value)} {_PREFIXES[power]}"


def _plain(value: float) -> str:
    """A number without a prefix: 1,615, 3.14, 0.0012, 2.1e-07."""
    size = abs(value)
    if size >= 1000:
        return format_count(value)
    if size >= 1 or size == 0:
        return _three_digits(value)
    return f"{value:.3g}"


_FORMATTERS: dict[str, Callable[[float], str]] = {
    "bytes": format_bytes,
    "bytes_per_second": format_byte_rate,
    "percent": format_percent,
    "seconds": format_duration,
    "gpu_hours": lambda value: format_duration(value * 3600),
    "per_second": lambda value: f"{_plain(value)}/s",
}
