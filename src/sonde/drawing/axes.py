"""Axes of static charts: scales, ticks and labels."""

import math
from dataclasses import dataclass

from sonde.drawing.html import Element, element
from sonde.formats import format_duration, format_value

_STEPS = (1, 2, 5, 10)
_TIMES = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 1_209_600),
)
_CHARACTER = 6.2  # approximate width of a character


@dataclass(frozen=True)
class Scale:
    """Maps values to page coordinates."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def at(self, value: float) -> float:
        """The coordinate of a value, clamped to the ends of the scale."""
        if self.is_logarithmic:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(max(value, self.low)) - low) / ((high - low) or 1.0)
        else:
            share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def round_ticks(low: float, high: float, max_ticks: int) -> list[float]:
    """Up to `max_ticks` round numbers between two values."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw_step = span / max(1, max_ticks)
    power = 10 ** math.floor(math.log10(raw_step))
    step = next(step * power for step in _STEPS if step * power >= raw_step * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def time_ticks(low: float, high: float, max_ticks: int) -> list[float]:
    """Round times between two values in seconds."""
    raw_step = (high - low) / max(1, max_ticks)
    if raw_step < _TIMES[0]:
        return round_ticks(low, high, max_ticks)
    step = next((time for time in _TIMES if time >= raw_step), _TIMES[-1])
    return [float(at) for at in range(math.ceil(low / step) * step, math.floor(high) + 1, step)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two values, thinned out if there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, (last - first) // 5)
    return [10.0**index for index in range(first, last + 1, stride)] or [low, high]


def clock_text(seconds: float, span: float) -> str:
    """A time since the start, with units that fit the span of the axis."""
    if span < _TIMES[2]:
        return format_duration(seconds) if seconds else "0"
    total = round(seconds)
    hours, minutes = total // 3600, total % 3600 // 60
    if span >= 3600:
        return f"{hours}:{minutes:02d} h"
    return f"{total // 60}:{total % 60:02d}"


def number_text(value: float, unit: str) -> str:
    """A tick label with its unit."""
    return format_value(value, unit)


def label(text: str, x: float, y: float, anchor: str = "start", class_: str = "axis") -> Element:
    """A text element."""
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def width_of(text: str) -> float:
    """The approximate width of a text element."""
    return _CHARACTER * len(text)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> Element:
    """A line element."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def shortened(text: str, max_length: int) -> str:
    """Replace the middle of a long name by an ellipsis."""
    if len(text) <= max_length:
        return text
    head = (max_length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (max_length - 1 - head) :]}"
