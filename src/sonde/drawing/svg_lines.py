"""Static pictures of curves and of time spans."""

from collections.abc import Iterator, Sequence

import numpy as np

from sonde.drawing.axes import (
    Scale,
    clock_text,
    decade_ticks,
    label,
    line,
    number_text,
    round_ticks,
    time_ticks,
    width_of,
)
from sonde.drawing.colors import color_of
from sonde.drawing.html import Element, element
from sonde.records.chart import Curve, Lanes, LineChart, Reals

WIDTH = 900.0
_HEIGHT = 210.0
_LEFT_MARGIN = 64.0
_RIGHT = 12.0
_TOP = 10.0
_BOTTOM = 30.0
_LANE = 26.0


def line_chart(spec: LineChart) -> Element:
    """Curves over an axis."""
    x = _numbers(spec.x)
    low, high = _extremes(spec)
    is_log = spec.is_logarithmic and low > 0
    x_scale = Scale(float(np.nanmin(x)), float(np.nanmax(x)), _LEFT_MARGIN, WIDTH - _RIGHT)
    y_scale = Scale(low, high, _HEIGHT - _BOTTOM, _TOP, is_log)
    x_values = [x_scale.at(each) if np.isfinite(each) else _LEFT_MARGIN for each in x.tolist()]
    marks: list[Element] = []
    for value in decade_ticks(low, high) if is_log else round_ticks(low, high, 4):
        y = y_scale.at(value)
        marks.append(line(_LEFT_MARGIN, y, WIDTH - _RIGHT, y))
        marks.append(label(number_text(value, spec.unit), _LEFT_MARGIN - 6, y + 4, "end"))
    marks += list(bottom_axis(x_scale, spec.x_title, spec.x_unit, _HEIGHT))
    for index, curve in enumerate(spec.curves):
        color = color_of(curve.tone, index)
        marks += list(_curve(curve, x_values, y_scale, color, is_joined=spec.x_unit != "seconds"))
    return picture(marks, _HEIGHT, spec.title)


def lanes_chart(spec: Lanes) -> Element:
    """Time spans in lanes."""
    height = _LANE * len(spec.lanes) + _BOTTOM + 4
    x_scale = Scale(spec.start, spec.end or 1.0, _LEFT_MARGIN, WIDTH - _RIGHT)
    marks = list(bottom_axis(x_scale, "Time since start", "seconds", height))
    for index, lane in enumerate(spec.lanes):
        y = 4 + index * _LANE
        marks.append(label(lane.label, _LEFT_MARGIN - 6, y + 14, "end"))
        for number, span in enumerate(lane.spans):
            start, end = x_scale.at(span.start), x_scale.at(span.end)
            seconds = clock_text(span.end - span.start, span.end - span.start)
            marks.append(
                element(
                    "rect",
                    element("title", f"{span.label}: {seconds}"),
                    x=start,
                    y=y,
                    width=max(1.0, end - start),
                    height=_LANE - 8,
                    rx=2,
                    class_=f"f-{color_of(span.tone, number)}",
                )
            )
            if end - start > width_of(span.label) + 12:
                marks.append(label(span.label, (start + end) / 2, y + 13, "middle", "on"))
    return picture(marks, height, spec.title)


def picture(marks: Sequence[Element], height: float, title: str, width: float = WIDTH) -> Element:
    """An SVG element that scales to the available width."""
    return element("svg", *marks, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=title)


def bottom_axis(x_scale: Scale, title: str, unit: str, height: float) -> Iterator[Element]:
    """The horizontal axis with ticks and title."""
    base = height - _BOTTOM
    yield line(x_scale.start, base, x_scale.end, base, "base")
    is_time = unit == "seconds" and bool(
        title
    )  # axes of time have a title, those of durations none
    ticks = time_ticks if is_time else round_ticks
    span = x_scale.high - x_scale.low
    for value in ticks(x_scale.low, x_scale.high, 8):
        x = x_scale.at(value)
        text = clock_text(value, span) if is_time else number_text(value, unit)
        anchor = "end" if x > x_scale.end - 20 else "middle"
        yield line(x, base, x, base + 4, "base")
        yield label(text, x, base + 16, anchor)
    if title:
        yield label(title, (x_scale.start + x_scale.end) / 2, base + 28, "middle", "axis quiet")


def _curve(
    curve: Curve, x: Sequence[float], y_scale: Scale, color: str, *, is_joined: bool
) -> Iterator[Element]:
    if curve.low is not None and curve.high is not None:
        path = _band(x, _numbers(curve.low).tolist(), _numbers(curve.high).tolist(), y_scale)
        yield element("path", d=path, class_=f"band f-{color}")
    path = _path(x, _numbers(curve.values).tolist(), y_scale, is_joined=is_joined)
    yield element("path", d=path, class_=f"curve s-{color}")
    if curve.has_markers:
        for at, value in zip(x, _numbers(curve.values).tolist(), strict=False):
            if np.isfinite(value):
                yield element("circle", cx=at, cy=y_scale.at(value), r=3, class_=f"f-{color}")


def _path(x: Sequence[float], values: Sequence[float], y_scale: Scale, *, is_joined: bool) -> str:
    """A path with gaps at unknown values unless `is_joined`; a single point is a short stroke."""
    segments = []
    is_on = False
    for at, value in zip(x, values, strict=False):
        if np.isfinite(value):
            segments.append(
                f"{'L' if is_on else 'M'}{at:.1f} {y_scale.at(value):.1f}"
                + ("" if is_on else "h.1")
            )
        is_on = bool(np.isfinite(value)) or (is_joined and is_on)
    return "".join(segments)


def _band(x: Sequence[float], low: Sequence[float], high: Sequence[float], y_scale: Scale) -> str:
    points = [
        (at, bottom, top)
        for at, bottom, top in zip(x, low, high, strict=False)
        if np.isfinite(bottom) and np.isfinite(top)
    ]
    over = [f"{at:.1f} {y_scale.at(top):.1f}" for at, _, top in points]
    lower_edge = [f"{at:.1f} {y_scale.at(bottom):.1f}" for at, bottom, _ in reversed(points)]
    return f"M{'L'.join(over + lower_edge)}Z" if points else ""


def _extremes(spec: LineChart) -> tuple[float, float]:
    rows = [
        row
        for curve in spec.curves
        for row in (curve.values, curve.low, curve.high)
        if row is not None
    ]
    finite = np.concatenate([np.empty(0), *map(_numbers, rows)])
    finite = finite[np.isfinite(finite) & ((finite > 0) | (not spec.is_logarithmic))]
    low = float(finite.min()) if len(finite) else 0.0
    high = float(finite.max()) if len(finite) else 1.0
    low = low if spec.low is None else spec.low
    high = high if spec.high is None else spec.high
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    if spec.is_logarithmic:
        return low, high if high > low else low * 10
    return low - (room if spec.low is None else 0.0), high + (room if spec.high is None else 0.0)


def _numbers(values: Reals) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
