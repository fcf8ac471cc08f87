"""Charts as HTML figures: a static picture, and data for the script."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sonde.drawing.colors import color_of
from sonde.drawing.html import Element, data_block, element, prose
from sonde.drawing.svg_bars import bars, box_plot, histogram, stacked_bars
from sonde.drawing.svg_heat import heatmap
from sonde.drawing.svg_lines import lanes_chart, line_chart
from sonde.drawing.tables import facts, paragraphs, table
from sonde.records.chart import Group, Spec

_DRAWN: Mapping[str, Callable[[Any], Element]] = {
    "table": table,
    "facts": facts,
    "text": paragraphs,
    "line": line_chart,
    "bars": bars,
    "stacked_bars": stacked_bars,
    "histogram": histogram,
    "box_plot": box_plot,
    "heatmap": heatmap,
    "lanes": lanes_chart,
}
_STATIC = ("facts", "text", "table")  # need no data: scripts sort tables in place


def figures(
    name: str, spec: Spec, *, has_data: bool = True, heading: str = ""
) -> Iterator[Element]:
    """Render a chart; the parts of a group are separate figures.

    Args:
        name: The chart's name.
        spec: The chart.
        has_data: Whether to include the data.
        heading: The heading above it; an equal title is not repeated.
    """
    if isinstance(spec, Group):
        if spec.note:
            yield element("p", spec.note, class_="note")
        for index, inner in enumerate(spec.parts):
            yield from figures(f"{name}/{index}", inner, has_data=has_data)
        if spec.coarsened:
            yield element("p", spec.coarsened, class_="coarse")
        return
    draw = _DRAWN.get(spec.mark)
    if draw is None:
        return
    data = data_block(name, spec.document()) if has_data and spec.mark not in _STATIC else None
    note = element("p", *prose(spec.note), class_="note") if spec.note else None
    yield element(
        "figure",
        _caption(spec, heading),
        _legend(spec),
        note if spec.mark == "text" else None,
        element("div", draw(spec), class_="static"),
        data,
        None if spec.mark == "text" else note,
        element("p", spec.coarsened, class_="coarse") if spec.coarsened else None,
        data_chart=name,
        data_mark=spec.mark,
    )


def _caption(spec: Spec, heading: str) -> Element | None:
    is_redundant = spec.title == heading or getattr(spec, "is_quiet", False)
    return None if is_redundant else element("figcaption", spec.title)


def static_picture(spec: Spec) -> Element | None:
    """The static picture of a chart; None for tables and texts."""
    drawn = None if spec.mark in _STATIC else _DRAWN.get(spec.mark)
    return drawn(spec) if drawn is not None else None


def members_of(spec: Spec) -> list[tuple[str, str]]:
    """Labels and color names of the curves or parts of a chart."""
    members_found = []
    members = getattr(spec, "curves", None) or getattr(spec, "parts", None) or ()
    for index, member in enumerate(members):
        tone = member.tone or (member.label if spec.mark in ("bars", "stacked_bars") else "")
        members_found.append((member.label, color_of(tone, index)))
    return members_found


def _legend(spec: Spec) -> Element | None:
    """The legend, if there are several colors."""
    members = members_of(spec)
    if len(members) < 2:
        return None
    chips = []
    for name, color in members:
        swatch = element("rect", width=10, height=10, rx=2, class_=f"f-{color}")
        chip = element("svg", swatch, viewBox="0 0 10 10", class_="chip", aria_hidden="true")
        chips.append(element("span", chip, name))
    return element("div", *chips, class_="legend")
