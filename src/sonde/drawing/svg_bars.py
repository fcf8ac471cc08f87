"""Static pictures of bars, histograms and box plots."""

from collections.abc import Iterator

from sonde.drawing.axes import (
    Scale,
    label,
    line,
    number_text,
    round_ticks,
    shortened,
    width_of,
)
from sonde.drawing.cells import format_cell
from sonde.drawing.colors import color_of
from sonde.drawing.html import Element, element
from sonde.drawing.svg_lines import WIDTH, bottom_axis, picture
from sonde.formats import format_value
from sonde.records.chart import Bars, BarSeries, Box, BoxPlot, Histogram, StackedBars

_ROW = 24.0
_NAMES = 22
_TOP = 10.0
_BOTTOM = 30.0
_LEFT_MARGIN = 64.0
_RIGHT = 12.0
_HEIGHT = 200.0
_TITLE = 8.0  # above the bars, for the unit of counts


def stacked_bars(spec: StackedBars) -> Element:
    """A bar per label, made of parts."""
    names = [shortened(each, _NAMES) for each in spec.labels]
    x_start = max([20.0, *(width_of(name) + 14 for name in names)])
    sums = [
        sum(float(layer.values[index] or 0.0) for layer in spec.parts)
        for index in range(len(spec.labels))
    ]
    height = _TOP + _ROW * len(names) + _BOTTOM
    x_scale = Scale(0.0, max([*sums, 1e-12]), x_start, WIDTH - _RIGHT)
    marks = list(bottom_axis(x_scale, "", spec.unit, height))
    for index, name in enumerate(names):
        y = _TOP + index * _ROW
        marks.append(label(name, x_start - 8, y + 14, "end"))
        marks += list(_stack(spec, index, y, x_scale))
    return picture(marks, height, spec.title)


def _stack(spec: StackedBars, index: int, y: float, x_scale: Scale) -> Iterator[Element]:
    begin = 0.0
    for number, layer in enumerate(spec.parts):
        value = float(layer.values[index] or 0.0)
        start, end = x_scale.at(begin), x_scale.at(begin + value)
        begin += value
        if end - start < 0.2:
            continue
        text = format_cell(value, spec.unit)
        yield element(
            "rect",
            element("title", f"{layer.label}: {text}"),
            x=start,
            y=y,
            width=max(0.5, end - start - 1),
            height=_ROW - 6,
            class_=f"f-{color_of(layer.tone or layer.label, number)}",
        )
        if end - start > width_of(text) + 8:
            yield label(text, (start + end) / 2, y + 13, "middle", "on")


def bars(spec: Bars) -> Element:
    """A bar per label and part."""
    count = max(1, len(spec.parts))
    names = [shortened(each, _NAMES) for each in spec.labels]
    x_start = max([20.0, *(width_of(name) + 14 for name in names)])
    highest = max([1e-12, *(float(v or 0.0) for group in spec.parts for v in group.values)])
    row = 6.0 + 13.0 * count
    height = _TOP + row * len(names) + _BOTTOM
    x_scale = Scale(0.0, highest, x_start, WIDTH - _RIGHT - 60)
    marks = list(bottom_axis(x_scale, "", spec.unit, height))
    for index, name in enumerate(names):
        y = _TOP + index * row
        marks.append(label(name, x_start - 8, y + row / 2 + 2, "end"))
        for number, group in enumerate(spec.parts):
            value = float(group.values[index] or 0.0)
            top, end = y + 13.0 * number, x_scale.at(value)
            color = color_of(group.tone or group.label, number)
            size = {"x": x_start, "y": top, "width": max(0.5, end - x_start), "height": 11.0}
            marks.append(element("rect", class_=f"f-{color}", **size))
            marks.append(label(format_cell(value, spec.unit), end + 5, top + 9))
    return picture(marks, height, spec.title)


def histogram(spec: Histogram) -> Element:
    """A histogram; groups are side by side in each bin."""
    edges = [float(edge or 0.0) for edge in spec.edges]
    highest = max([1.0, *(float(v or 0.0) for group in spec.parts for v in group.values)])
    x_scale = Scale(edges[0], edges[-1], _LEFT_MARGIN, WIDTH - _RIGHT)
    y_scale = Scale(0.0, highest, _HEIGHT - _BOTTOM, _TOP + _TITLE)
    marks: list[Element] = []
    for value in round_ticks(0.0, highest, 4):
        marks.append(line(_LEFT_MARGIN, y_scale.at(value), WIDTH - _RIGHT, y_scale.at(value)))
        marks.append(label(format_value(value, ""), _LEFT_MARGIN - 6, y_scale.at(value) + 4, "end"))
    marks += list(bottom_axis(x_scale, "", spec.unit, _HEIGHT))
    marks.append(label(spec.counted, _LEFT_MARGIN, _TOP, "start", "axis quiet"))
    for number, group in enumerate(spec.parts):
        marks += list(_bins(spec, group, number, (x_scale, y_scale)))
    return picture(marks, _HEIGHT, spec.title)


def _bins(
    spec: Histogram, group: BarSeries, number: int, scales: tuple[Scale, Scale]
) -> Iterator[Element]:
    """One path per group, to keep the page small."""
    x_scale, y_scale = scales
    color = color_of(group.tone, number)
    segments = []
    count = len(spec.parts)
    for index, value in enumerate(group.values):
        start, end = (x_scale.at(float(spec.edges[index + each] or 0.0)) for each in (0, 1))
        width = (end - start) / count
        if value:
            x_start, top = start + width * number, y_scale.at(float(value))
            base, bar = f"{y_scale.start:.1f}", f"{max(0.6, width - 0.6):.1f}"
            segments.append(f"M{x_start:.1f} {base}V{top:.1f}h{bar}V{base}Z")
    yield element("path", element("title", group.label), d="".join(segments), class_=f"f-{color}")


def box_plot(spec: BoxPlot) -> Element:
    """Boxes from p25 to p75 with whiskers from p5 to p95."""
    names = [shortened(box.label, _NAMES) for box in spec.boxes]
    x_start = max([40.0, *(width_of(name) + 14 for name in names)])
    low = min(box.minimum for box in spec.boxes) if spec.low is None else spec.low
    high = max(box.maximum for box in spec.boxes) if spec.high is None else spec.high
    row = 18.0
    height = _TOP + row * len(names) + _BOTTOM
    x_scale = Scale(low, high, x_start, WIDTH - _RIGHT - 10)
    marks = [
        line(x_scale.at(value), _TOP, x_scale.at(value), height - _BOTTOM)
        for value in round_ticks(low, high, 6)
    ]
    marks += list(bottom_axis(x_scale, "", spec.unit, height))
    for index, (name, box) in enumerate(zip(names, spec.boxes, strict=True)):
        y = _TOP + index * row
        marks.append(label(name, x_start - 8, y + 11, "end"))
        marks += list(_box(box, y, x_scale, spec.unit))
    return picture(marks, height, spec.title)


def _box(box: Box, y: float, x_scale: Scale, unit: str) -> Iterator[Element]:
    p5, p25, p50, p75, p95 = (
        x_scale.at(each) for each in (box.p5, box.p25, box.p50, box.p75, box.p95)
    )
    summary = ", ".join(
        f"{name} {number_text(round(value, 1), unit)}" for name, value in _named(box)
    )
    color = color_of(box.tone, 0)
    yield line(p5, y + 7, p95, y + 7, f"whisker s-{color}")
    yield element(
        "rect",
        element("title", f"{box.label}: {summary}"),
        x=p25,
        y=y + 1,
        width=max(1.0, p75 - p25),
        height=12,
        class_=f"box f-{color}",
    )
    yield line(p50, y - 1, p50, y + 15, "median")


def _named(box: Box) -> tuple[tuple[str, float], ...]:
    return (("p5", box.p5), ("p25", box.p25), ("p50", box.p50), ("p75", box.p75), ("p95", box.p95))
