"""One chart alone: a page, a picture, and a frame for notebooks.

A notebook shows the static picture; above it lies a frame without any rights but to run the script
that stands in it. Where frames or scripts are not allowed, the picture is what is seen.
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
_LETTERS = 130  # of a note, in one line
_STYLE = (
    "svg{font:12px Inter,system-ui,-apple-system,'Segoe UI',sans-serif}"
    "text.title{font-weight:600;fill:var(--ink)}"
)
_AROUND = 72.0  # above and below all live views of a page, in pixels
_TALL = {"line": 266.0, "histogram": 237.0, "box_plot": 300.0}  # live views without rows
_BARS = 16  # labels that are shown at first
_ROWS = 102.0  # of a live view with rows, beside them


def chart_page(spec: Spec) -> str:
    """A page that stands alone, with nothing but the chart."""
    return whole_page(element("body", element("main", *figures(_NAME, spec))), spec.title)


def chart_picture(spec: Spec) -> str | None:
    """A picture that stands alone, with its title and its note; None where nothing is drawn."""
    blocks = list(_blocks(spec))
    if not any(one.body for one in blocks):
        return None
    marks: list[Element] = []
    top = _MARGIN
    for block in blocks:
        marks += block.marks(top)
        top += block.height
    style = element("style", Raw(PAGE_STYLE.read_text(encoding="utf-8") + _STYLE))
    back = element("rect", width="100%", height="100%", fill="var(--card)")
    page: Mapping[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {WIDTH + 2 * _MARGIN:g} {top + _MARGIN:g}",
        "width": WIDTH + 2 * _MARGIN,
        "height": top + _MARGIN,
    }
    return f"{element('svg', style, back, *marks, **page)}\n"


def chart_frame(spec: Spec) -> str:
    """The chart for a notebook: the live view above its picture, in a frame that may do nothing."""
    picture = chart_picture(spec)
    if picture is None:
        return str(element("div", *figures(_NAME, spec, has_data=False)))
    source = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
    still = element("img", src=source, alt=spec.title, style="display:block;width:100%")
    live = element(
        "iframe",
        srcdoc=chart_page(spec),
        sandbox="allow-scripts",
        title=spec.title,
        style="position:absolute;top:0;left:0;width:100%;height:100%;border:0",
    )
    height = _AROUND + _live_height(spec)
    place = f"position:relative;max-width:{WIDTH + 60:g}px;min-height:{height:g}px"
    return str(element("div", still, live, style=place))


def _live_height(spec: Spec) -> float:
    """As the script draws it: a frame does not grow with what is in it."""
    if isinstance(spec, Group):
        return sum(_ROW + _live_height(part) for part in spec.parts)
    notes = [*_lines(spec.note), *_lines(spec.coarsened)]
    return _ROW * len(notes) + (_rows_height(spec) or _TALL.get(spec.mark, _TALL["line"]))


def _rows_height(spec: Spec) -> float:
    """Of a live view with rows; 0 where there are none."""
    if isinstance(spec, Bars):
        shown = min(_BARS, len(spec.labels))
        return _ROWS + shown * (23.0 * len(spec.parts) + 3.0)
    if isinstance(spec, StackedBars):
        return _ROWS + 26.0 * len(spec.labels)
    if isinstance(spec, Lanes):
        return _ROWS + 26.0 * len(spec.lanes)
    return _ROWS + 20.0 * len(spec.rows) if isinstance(spec, Heatmap) else 0.0


@dataclass(frozen=True)
class _Block:
    """One picture below its title and its legend, above its note."""

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
        for place, note in enumerate(self.notes):
            yield label(note, _MARGIN, top + 13 + _ROW * place, class_="axis")


def _blocks(spec: Spec) -> Iterator[_Block]:
    if isinstance(spec, Group):
        for part in spec.parts:
            yield from _blocks(part)
        return
    body = static_picture(spec)
    height = float(dict(body.attributes)["viewBox"].split()[-1]) if body is not None else 0.0
    yield _Block(spec, body, height, tuple(_lines(spec.note)))


def _legend(chips: list[tuple[str, str]], top: float) -> Iterator[Element]:
    """As many as have room."""
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
        if len(line) + len(word) >= _LETTERS:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line
