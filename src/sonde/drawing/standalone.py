"""A single chart as a page, an image, and an HTML fragment for notebooks.

Notebooks show the static picture, covered by a sandboxed frame with the interactive chart. The
picture remains visible if frames or scripts are blocked.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sonde.drawing.axes import label, width_of
from sonde.drawing.figures import figures, members_of, static_picture
from sonde.drawing.html import Element, Raw, element
from sonde.drawing.page import PAGE_STYLE, whole_page
from sonde.drawing.svg_lines import WIDTH
from sonde.records.chart import Bars, Group, Heatmap, Lanes, Spec, StackedBars

_NAME = "chart"
_ROW = 18.0
_MARGIN = 12.0
_MAX_LINE_LENGTH = 130  # of notes
_STYLE = (
    "svg{font:12px Inter,system-ui,-apple-system,'Segoe UI',sans-serif}"
    "text.title{font-weight:600;fill:var(--ink)}"
)
_PAGE_PADDING = 72.0  # pixels above and below the interactive charts
_HEIGHTS = {"line": 266.0, "histogram": 237.0, "box_plot": 300.0}  # interactive, without rows
_MAX_BARS = 16  # labels shown initially
_ROWS_PADDING = 102.0  # of interactive charts with rows


def chart_page(spec: Spec) -> str:
    """A self-contained page with a chart."""
    return whole_page(element("body", element("main", *figures(_NAME, spec))), spec.title)


def chart_picture(spec: Spec) -> str | None:
    """A self-contained SVG image with title and note; None for tables and texts."""
    blocks = list(_blocks(spec))
    if not any(block.body for block in blocks):
        return None
    marks: list[Element] = []
    top = _MARGIN
    for block in blocks:
        marks += block.marks(top)
        top += block.height
    style = element("style", Raw(PAGE_STYLE.read_text(encoding="utf-8") + _STYLE))
    background = element("rect", width="100%", height="100%", fill="var(--card)")
    page: Mapping[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {WIDTH + 2 * _MARGIN:g} {top + _MARGIN:g}",
        "width": WIDTH + 2 * _MARGIN,
        "height": top + _MARGIN,
    }
    return f"{element('svg', style, background, *marks, **page)}\n"


def chart_frame(spec: Spec) -> str:
    """The chart for a notebook: a sandboxed interactive frame above its picture."""
    picture = chart_picture(spec)
    if picture is None:
        return str(element("div", *figures(_NAME, spec, has_data=False)))
    source = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
    image = element("img", src=source, alt=spec.title, style="display:block;width:100%")
    live = element(
        "iframe",
        srcdoc=chart_page(spec),
        sandbox="allow-scripts",
        title=spec.title,
        style="position:absolute;top:0;left:0;width:100%;height:100%;border:0",
    )
    height = _PAGE_PADDING + _live_height(spec)
    style = f"position:relative;max-width:{WIDTH + 60:g}px;min-height:{height:g}px"
    return str(element("div", image, live, style=style))


def _live_height(spec: Spec) -> float:
    """The height of the interactive chart: frames do not adapt to their content."""
    if isinstance(spec, Group):
        return sum(_ROW + _live_height(inner) for inner in spec.parts)
    notes = [*_lines(spec.note), *_lines(spec.coarsened)]
    return _ROW * len(notes) + (_rows_height(spec) or _HEIGHTS.get(spec.mark, _HEIGHTS["line"]))


def _rows_height(spec: Spec) -> float:
    """The height of an interactive chart with rows; 0 for other charts."""
    if isinstance(spec, Bars):
        shown = min(_MAX_BARS, len(spec.labels))
        return _ROWS_PADDING + shown * (23.0 * len(spec.parts) + 3.0)
    if isinstance(spec, StackedBars):
        return _ROWS_PADDING + 26.0 * len(spec.labels)
    if isinstance(spec, Lanes):
        return _ROWS_PADDING + 26.0 * len(spec.lanes)
    return _ROWS_PADDING + 20.0 * len(spec.rows) if isinstance(spec, Heatmap) else 0.0


@dataclass(frozen=True)
class _Block:
    """A picture with title, legend and notes."""

    spec: Spec
    body: Element | None
    body_height: float
    notes: tuple[str, ...]

    @property
    def height(self) -> float:
        legend = _ROW if len(members_of(self.spec)) > 1 else 0.0
        return _ROW + legend + self.body_height + _ROW * len(self.notes) + _MARGIN

    def marks(self, top: float) -> Iterator[Element]:
        yield label(self.spec.title, _MARGIN, top + 13, class_="title")
        top += _ROW
        chips = members_of(self.spec)
        if len(chips) > 1:
            yield from _legend(chips, top)
            top += _ROW
        if self.body is not None:
            box = {"x": _MARGIN, "y": top, "width": WIDTH, "height": self.body_height}
            size = ((name, f"{value:g}") for name, value in box.items())
            yield Element("svg", (*self.body.attributes, *size), self.body.children)
            top += self.body_height
        for index, note in enumerate(self.notes):
            yield label(note, _MARGIN, top + 13 + _ROW * index, class_="axis")


def _blocks(spec: Spec) -> Iterator[_Block]:
    if isinstance(spec, Group):
        for inner in spec.parts:
            yield from _blocks(inner)
        return
    body = static_picture(spec)
    height = float(dict(body.attributes)["viewBox"].split()[-1]) if body is not None else 0.0
    yield _Block(spec, body, height, tuple(_lines(spec.note)))


def _legend(chips: list[tuple[str, str]], top: float) -> Iterator[Element]:
    """As many entries as fit."""
    x = _MARGIN
    for name, color in chips:
        if x + width_of(name) + 16 > WIDTH:
            yield label("…", x, top + 12)
            return
        yield element("rect", x=x, y=top + 3, width=10, height=10, rx=2, class_=f"f-{color}")
        yield label(name, x + 15, top + 12)
        x += width_of(name) + 34


def _lines(note: str) -> Iterator[str]:
    line = ""
    for word in note.replace("`", "").split():
        if len(line) + len(word) >= _MAX_LINE_LENGTH:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line
