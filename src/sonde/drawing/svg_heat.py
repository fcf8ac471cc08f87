"""Static pictures of heatmaps: a bitmap with row labels and an axis."""

from collections.abc import Iterator

import numpy as np

from sonde.drawing.axes import Scale, label, number_text, shortened, width_of
from sonde.drawing.html import Element, element
from sonde.drawing.png import ZERO, data_uri, encode_png, palette_indices
from sonde.drawing.svg_lines import WIDTH, bottom_axis, picture
from sonde.records.chart import Heatmap

_NAMES = 30
_TALLEST = 420.0
_TOP = 8.0
_BOTTOM = 30.0
_RIGHT = 84.0
_LETTER = 12.0


def heatmap(spec: Heatmap) -> Element:
    """A color per row and column."""
    count = len(spec.rows)
    names = [shortened(row, _NAMES) for row in spec.rows]
    x_start = max([30.0, *(width_of(name) + 12 for name in names)])
    row = min(16.0, max(1.5, _TALLEST / max(1, count)))
    body = row * count
    height = _TOP + max(body, 70.0 if spec.marks_zero else 0.0) + _BOTTOM
    right = WIDTH - _RIGHT
    if spec.columns:
        right = min(right, x_start + max(row, 14.0) * len(spec.columns))
    marks = [_bitmap(spec, (x_start, _TOP, right - x_start, body))]
    stride = max(1, round(_LETTER / row + 0.49))
    marks += [
        label(name, x_start - 6, _TOP + row * (index + 0.5) + 4, "end")
        for index, name in enumerate(names)
        if index % stride == 0
    ]
    if not spec.columns:
        marks += list(_axis(spec, (x_start, right), height))
    marks += list(_key(spec, body, right + 16))
    return picture(marks, height, spec.title)


def _axis(spec: Heatmap, ends: tuple[float, float], height: float) -> Iterator[Element]:
    """Round ticks for evenly spaced columns; otherwise the values of some columns."""
    x = np.array([float(each or 0.0) for each in spec.x])
    spacing = np.diff(x)
    width = float(spacing.mean()) if len(spacing) else 1.0
    x_scale = Scale(float(x[0]), float(x[-1]) + width, *ends)
    if not len(spacing) or np.allclose(spacing, width, rtol=0.02):
        yield from bottom_axis(x_scale, spec.x_title, spec.x_unit, height)
        return
    base, cell = height - _BOTTOM, (ends[1] - ends[0]) / len(x)
    for index in range(0, len(x), max(1, round(len(x) / 9))):
        middle = ends[0] + (index + 0.5) * cell
        yield label(number_text(float(x[index]), spec.x_unit), middle, base + 14, "middle")
    yield label(spec.x_title, sum(ends) / 2, base + 27, "middle", "axis quiet")


def _bitmap(spec: Heatmap, index: tuple[float, float, float, float]) -> Element:
    values = np.array(
        [[np.nan if each is None else each for each in row] for row in spec.values],
        dtype=np.float64,
    )
    palette = palette_indices(values, spec.low, spec.high, is_logarithmic=spec.is_logarithmic)
    if spec.marks_zero:
        palette = np.where(values == 0, np.uint8(ZERO), palette)
    x, y, width, height = index
    return element(
        "image",
        href=data_uri(encode_png(palette)),
        x=x,
        y=y,
        width=width,
        height=height,
        preserveAspectRatio="none",
        class_="heat",
    )


def _key(spec: Heatmap, body: float, x: float) -> Iterator[Element]:
    """The color scale."""
    height = max(40.0, min(110.0, body))
    ramp = np.arange(ZERO - 1, -1, -1, dtype=np.uint8)[:, None]
    yield element(
        "image",
        href=data_uri(encode_png(ramp)),
        x=x,
        y=_TOP,
        width=10,
        height=height,
        preserveAspectRatio="none",
        class_="heat",
    )
    for value, y in ((spec.high, _TOP + 8), (spec.low, _TOP + height)):
        text = number_text(float(f"{value:.3g}"), spec.unit)
        yield label(text, x + 14, y)
    if spec.marks_zero and any(value == 0 for row in spec.values for value in row):
        y = _TOP + height + 8
        yield element("rect", x=x, y=y, width=10, height=10, class_="f-c4")
        yield label("zero", x + 14, y + 9)
