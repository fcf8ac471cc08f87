"""Line charts over time as a small SVG, without any library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

_WIDTH, _HEIGHT = 860, 110
_PAD_LEFT, _PAD_RIGHT, _PAD_TOP, _GAP = 60, 24, 44, 38
_FONT = "font-family='system-ui,sans-serif' font-size='11' fill='#445'"


@dataclass(frozen=True)
class Curve:
    """One line chart: seconds since the start, and values."""

    title: str
    unit: str
    seconds: npt.NDArray[Any]
    values: npt.NDArray[Any]


def draw(
    title: str,
    curves: Sequence[Curve],
    shaded: Sequence[tuple[float, float]],
    seconds: float,
) -> str:
    """Return the SVG; `shaded` are time intervals."""
    height = _PAD_TOP + len(curves) * (_HEIGHT + _GAP) + 10
    elements = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}'>",
        "<rect width='100%' height='100%' fill='#fff'/>",
        f"<text x='{_PAD_LEFT}' y='18' {_FONT} font-weight='600'>{escape(title)}</text>",
    ]
    for number, curve in enumerate(curves):
        elements += _panel(curve, _PAD_TOP + number * (_HEIGHT + _GAP), shaded, seconds)
    return "\n".join([*elements, "</svg>"]) + "\n"


def _panel(
    curve: Curve, top: float, shaded: Sequence[tuple[float, float]], seconds: float
) -> list[str]:
    per_second = (_WIDTH - _PAD_LEFT - _PAD_RIGHT) / seconds
    is_valid = ~np.isnan(curve.values) & (curve.seconds <= seconds)
    values = curve.values[is_valid]
    limit = _round_above(float(values.max()) if len(values) else 0.0, curve.unit)
    bottom = top + _HEIGHT
    shades = []
    for start, end in shaded:
        x = _PAD_LEFT + max(start, 0) * per_second
        width = _PAD_LEFT + min(end, seconds) * per_second - x
        if width > 0:
            shades.append(_box(x, top, width))
    points = " ".join(
        f"{_PAD_LEFT + at * per_second:.1f},{bottom - value / limit * _HEIGHT:.1f}"
        for at, value in zip(curve.seconds[is_valid], values, strict=True)
    )
    label = escape(f"{curve.title} ({curve.unit})" if curve.unit else curve.title)
    return [
        *shades,
        f"<path d='M{_PAD_LEFT} {top}V{bottom}H{_WIDTH - _PAD_RIGHT}' fill='none' stroke='#99a'/>",
        f"<polyline points='{points}' fill='none' stroke='#1769aa' stroke-width='1.3'/>",
        f"<text x='{_PAD_LEFT + 6}' y='{top - 4}' {_FONT}>{label}</text>",
        f"<text x='{_PAD_LEFT - 6}' y='{top + 8}' text-anchor='end' {_FONT}>{limit:g}</text>",
        f"<text x='{_PAD_LEFT - 6}' y='{bottom}' text-anchor='end' {_FONT}>0</text>",
        *_time_marks(bottom, seconds),
    ]


def _round_above(value: float, unit: str) -> float:
    """Return the top of an axis: 100 for percentages, else a round number."""
    if unit == "%" or value <= 0:
        return 100.0 if unit == "%" else 1.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(decade * step for step in (1, 1.5, 2, 3, 5, 7.5, 10) if decade * step >= value)


def _time_marks(bottom: float, seconds: float) -> list[str]:
    step = next((s for s in (1, 5, 10, 30, 60, 120, 300, 600) if seconds / s <= 12), 3600)
    per_second = (_WIDTH - _PAD_LEFT - _PAD_RIGHT) / seconds
    marks = []
    for at in range(0, int(seconds) + 1, step):
        text = f"{at // 60} min" if step >= 60 else f"{at} s"
        x = _PAD_LEFT + at * per_second
        marks.append(
            f"<path d='M{x:.1f} {bottom}v3' stroke='#99a'/>"
            f"<text x='{x:.1f}' y='{bottom + 13}' text-anchor='middle' {_FONT}>{text}</text>"
        )
    return marks


def _box(x: float, top: float, width: float) -> str:
    return (
        f"<rect x='{x:.1f}' y='{top}' width='{width:.1f}' height='{_HEIGHT}' "
        "fill='#1769aa' fill-opacity='0.09'/>"
    )
