"""Static pictures of heatmaps: a bitmap with row labels and an axis."""

from collections.abc import Iterator

import numpy as np

from sonde.drawing.axes import Scale, label, number_text, shortened, width_of
from sonde.drawing.html import Element, element
from sonde.drawing.png import MISSING, data_uri, encode_png, places_of
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
    names = [shortened(one, _NAMES) for one in spec.rows]
    left = max([30.0, *(width_of(one) + 12 for one in names)])
    row = min(16.0, max(1.5, _TALLEST / max(1, count)))
    body = row * count
    height = _TOP + body + _BOTTOM
    right = WIDTH - _RIGHT
    if spec.columns:
        right = min(right, left + max(row, 14.0) * len(spec.columns))
    marks = [_bitmap(spec, (left, _TOP, right - left, body))]
    every = max(1, round(_LETTER / row + 0.49))
    marks += [
        label(name, left - 6, _TOP + row * (place + 0.5) + 4, "end")
        for place, name in enumerate(names)
        if place % every == 0
    ]
    if not spec.columns:
        marks += list(_axis(spec, (left, right), height))
    marks += list(_key(spec, body, right + 16))
    return picture(marks, height, spec.title)


def _axis(spec: Heatmap, ends: tuple[float, float], height: float) -> Iterator[Element]:
    """Round ticks for evenly spaced columns; otherwise the values of some columns."""
    x = np.array([float(one or 0.0) for one in spec.x])
    apart = np.diff(x)
    width = float(apart.mean()) if len(apart) else 1.0
    across = Scale(float(x[0]), float(x[-1]) + width, *ends)
    if not len(apart) or np.allclose(apart, width, rtol=0.02):
        yield from bottom_axis(across, spec.x_title, spec.x_unit, height)
        return
    base, cell = height - _BOTTOM, (ends[1] - ends[0]) / len(x)
    for place in range(0, len(x), max(1, round(len(x) / 9))):
        middle = ends[0] + (place + 0.5) * cell
        yield label(number_text(float(x[place]), spec.x_unit), middle, base + 14, "middle")
    yield label(spec.x_title, sum(ends) / 2, base + 27, "middle", "axis quiet")


def _bitmap(spec: Heatmap, place: tuple[float, float, float, float]) -> Element:
    values = np.array(
        [[np.nan if one is None else one for one in row] for row in spec.values], dtype=np.float64
    )
    picked = places_of(values, spec.low, spec.high, is_logarithmic=spec.is_logarithmic)
    x, y, width, height = place
    return element(
        "image",
        href=data_uri(encode_png(picked)),
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
    ramp = np.arange(MISSING - 1, -1, -1, dtype=np.uint8)[:, None]
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
