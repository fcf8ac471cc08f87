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
from sonde.records.chart import Bars, BarSeries, Box, BoxPlot, Histogram, StackedBars

_ROW = 24.0
_NAMES = 22
_TOP = 10.0
_BOTTOM = 30.0
_LEFT = 64.0
_RIGHT = 12.0
_HEIGHT = 200.0
_TITLE = 8.0  # above the bars, for the unit of counts


def stacked_bars(spec: StackedBars) -> Element:
    """A bar per label, made of parts."""
    names = [shortened(one, _NAMES) for one in spec.labels]
    left = max([20.0, *(width_of(one) + 14 for one in names)])
    sums = [
        sum(float(part.values[place] or 0.0) for part in spec.parts)
        for place in range(len(spec.labels))
    ]
    height = _TOP + _ROW * len(names) + _BOTTOM
    across = Scale(0.0, max([*sums, 1e-12]), left, WIDTH - _RIGHT)
    marks = list(bottom_axis(across, "", spec.unit, height))
    for place, name in enumerate(names):
        y = _TOP + place * _ROW
        marks.append(label(name, left - 8, y + 14, "end"))
        marks += list(_stack(spec, place, y, across))
    return picture(marks, height, spec.title)


def _stack(spec: StackedBars, place: int, y: float, across: Scale) -> Iterator[Element]:
    begin = 0.0
    for number, part in enumerate(spec.parts):
        value = float(part.values[place] or 0.0)
        start, end = across.at(begin), across.at(begin + value)
        begin += value
        if end - start < 0.2:
            continue
        text = format_cell(value, spec.unit)
        yield element(
            "rect",
            element("title", f"{part.label}: {text}"),
            x=start,
            y=y,
            width=max(0.5, end - start - 1),
            height=_ROW - 6,
            class_=f"f-{color_of(part.tone or part.label, number)}",
        )
        if end - start > width_of(text) + 8:
            yield label(text, (start + end) / 2, y + 13, "middle", "on")


def bars(spec: Bars) -> Element:
    """A bar per label and part."""
    count = max(1, len(spec.parts))
    names = [shortened(one, _NAMES) for one in spec.labels]
    left = max([20.0, *(width_of(one) + 14 for one in names)])
    highest = max([1e-12, *(float(v or 0.0) for part in spec.parts for v in part.values)])
    row = 6.0 + 13.0 * count
    height = _TOP + row * len(names) + _BOTTOM
    across = Scale(0.0, highest, left, WIDTH - _RIGHT - 60)
    marks = list(bottom_axis(across, "", spec.unit, height))
    for place, name in enumerate(names):
        y = _TOP + place * row
        marks.append(label(name, left - 8, y + row / 2 + 2, "end"))
        for number, part in enumerate(spec.parts):
            value = float(part.values[place] or 0.0)
            top, end = y + 13.0 * number, across.at(value)
            color = color_of(part.tone or part.label, number)
            size = {"x": left, "y": top, "width": max(0.5, end - left), "height": 11.0}
            marks.append(element("rect", class_=f"f-{color}", **size))
            marks.append(label(format_cell(value, spec.unit), end + 5, top + 9))
    return picture(marks, height, spec.title)


def histogram(spec: Histogram) -> Element:
    """A histogram; groups are side by side in each bin."""
    edges = [float(one or 0.0) for one in spec.edges]
    highest = max([1.0, *(float(v or 0.0) for part in spec.parts for v in part.values)])
    across = Scale(edges[0], edges[-1], _LEFT, WIDTH - _RIGHT)
    up = Scale(0.0, highest, _HEIGHT - _BOTTOM, _TOP + _TITLE)
    marks: list[Element] = []
    for value in round_ticks(0.0, highest, 4):
        marks.append(line(_LEFT, up.at(value), WIDTH - _RIGHT, up.at(value)))
        marks.append(label(f"{value:,g}", _LEFT - 6, up.at(value) + 4, "end"))
    marks += list(bottom_axis(across, "", spec.unit, _HEIGHT))
    marks.append(label(spec.counted, _LEFT, _TOP, "start", "axis quiet"))
    for number, part in enumerate(spec.parts):
        marks += list(_bins(spec, part, number, (across, up)))
    return picture(marks, _HEIGHT, spec.title)


def _bins(
    spec: Histogram, part: BarSeries, number: int, scales: tuple[Scale, Scale]
) -> Iterator[Element]:
    """One path per group, to keep the page small."""
    across, up = scales
    color = color_of(part.tone, number)
    said = []
    count = len(spec.parts)
    for place, value in enumerate(part.values):
        start, end = (across.at(float(spec.edges[place + one] or 0.0)) for one in (0, 1))
        width = (end - start) / count
        if value:
            left, top = start + width * number, up.at(float(value))
            said.append(
                f"M{left:.1f} {up.start:.1f}V{top:.1f}h{max(0.6, width - 0.6):.1f}V{up.start:.1f}Z"
            )
    yield element("path", element("title", part.label), d="".join(said), class_=f"f-{color}")


def box_plot(spec: BoxPlot) -> Element:
    """Boxes from p25 to p75 with whiskers from p5 to p95."""
    names = [shortened(one.label, _NAMES) for one in spec.boxes]
    left = max([40.0, *(width_of(one) + 14 for one in names)])
    low = min(one.minimum for one in spec.boxes) if spec.low is None else spec.low
    high = max(one.maximum for one in spec.boxes) if spec.high is None else spec.high
    row = 18.0
    height = _TOP + row * len(names) + _BOTTOM
    across = Scale(low, high, left, WIDTH - _RIGHT - 10)
    marks = [
        line(across.at(value), _TOP, across.at(value), height - _BOTTOM)
        for value in round_ticks(low, high, 6)
    ]
    marks += list(bottom_axis(across, "", spec.unit, height))
    for place, (name, box) in enumerate(zip(names, spec.boxes, strict=True)):
        y = _TOP + place * row
        marks.append(label(name, left - 8, y + 11, "end"))
        marks += list(_box(box, y, across, spec.unit))
    return picture(marks, height, spec.title)


def _box(box: Box, y: float, across: Scale, unit: str) -> Iterator[Element]:
    p5, p25, p50, p75, p95 = (
        across.at(one) for one in (box.p5, box.p25, box.p50, box.p75, box.p95)
    )
    said = ", ".join(f"{name} {number_text(round(value, 1), unit)}" for name, value in _named(box))
    color = color_of(box.tone, 0)
    yield line(p5, y + 7, p95, y + 7, f"whisker s-{color}")
    yield element(
        "rect",
        element("title", f"{box.label}: {said}"),
        x=p25,
        y=y + 1,
        width=max(1.0, p75 - p25),
        height=12,
        class_=f"box f-{color}",
    )
    yield line(p50, y - 1, p50, y + 15, "median")


def _named(box: Box) -> tuple[tuple[str, float], ...]:
    return (("p5", box.p5), ("p25", box.p25), ("p50", box.p50), ("p75", box.p75), ("p95", box.p95))
