"""Tables, facts and paragraphs as HTML elements."""

from collections.abc import Iterator, Sequence

from sonde.drawing.cells import format_cell, unit_symbol
from sonde.drawing.colors import color_of
from sonde.drawing.html import Element, Node, element, prose
from sonde.records.chart import Cell, Column, Facts, Table, Text

_BAR = 60.0
_SHORT = 26
_LONG = 40
_MAX_VISIBLE_ROWS = 60  # rows; longer tables scroll, and are truncated in print


def table(spec: Table) -> Element:
    """An HTML table; cells have their values as sort keys."""
    units = [index for index, column in enumerate(spec.columns) if column.name == "unit"]
    heads = [
        element("th", column.title, scope="col", class_="r" if column.is_number else None)
        for column in spec.columns
    ]
    rows = [
        element("tr", *_cells(spec.columns, row, row[units[0]] if units else ""))
        for row in spec.rows
    ]
    body = element("table", element("thead", element("tr", *heads)), element("tbody", *rows))
    is_tall = len(rows) > _MAX_VISIBLE_ROWS
    scrolled = element("div", body, class_="wide tall" if is_tall else "wide")
    content = [scrolled, *_row_notes(spec, is_tall=is_tall)]
    if spec.is_quiet:
        content = [element("details", element("summary", spec.title), *content)]
    return element("div", *content)


def _row_notes(spec: Table, *, is_tall: bool) -> Iterator[Element]:
    """Notes about rows that are not shown, or not printed."""
    if is_tall:
        note = (
            f"{_MAX_VISIBLE_ROWS} of {len(spec.rows):,} rows printed. The page shows all of them."
        )
        yield element("p", note, class_="quiet paper")
    if spec.total is not None and spec.total > len(spec.rows):
        yield element("p", f"{len(spec.rows):,} of {spec.total:,} rows shown.", class_="quiet")


def facts(spec: Facts) -> Element:
    """Values below their titles."""
    entries = [
        element("div", element("dt", fact.title), element("dd", text), class_=_fact_width(text))
        for fact in spec.facts
        for text in [format_cell(fact.value, fact.unit)]
    ]
    return element("dl", *entries, class_="facts")


def paragraphs(spec: Text) -> Element:
    """Paragraphs of text."""
    return element("div", *(element("p", *prose(paragraph)) for paragraph in spec.paragraphs))


def _cells(columns: Sequence[Column], row: Sequence[Cell], unit: Cell) -> list[Element]:
    cells = []
    for column, value in zip(columns, row, strict=True):
        unit_name = str(unit) if column.unit == "row" else column.unit
        bar = _bar(column, value, row) if column.tone else None
        text = unit_symbol(str(value)) if column.name == "unit" else format_cell(value, unit_name)
        sortable = None if isinstance(value, str) or value is None else float(value)
        cells.append(
            element(
                "td",
                bar,
                *([element("span", text, class_="n")] if bar is not None else _content(text)),
                class_="r" if column.is_number else _width(text),
                data_value=sortable,
            )
        )
    return cells


def _content(text: str) -> list[Node]:
    """Long texts may contain code in backticks; short ones are names."""
    return prose(text) if len(text) > _LONG else [text]


def _fact_width(text: str) -> str | None:
    return "whole" if len(text) > _LONG else None


def _width(text: str) -> str | None:
    """The CSS class for the width of a text."""
    if len(text) > _LONG:
        return "long"
    return "short" if len(text) <= _SHORT else None


def _bar(column: Column, value: Cell, row: Sequence[Cell]) -> Element | None:
    """A bar next to a percentage."""
    if not isinstance(value, float | int):
        return None
    width = _BAR * min(1.0, max(0.0, float(value) / 100))
    tone = str(row[0]) if column.tone == "phase" else column.tone
    background = element("rect", width=_BAR, height=8, rx=2, class_="track")
    front = element("rect", width=width, height=8, rx=2, class_=f"f-{color_of(tone, 0)}")
    return element(
        "svg", background, front, viewBox=f"0 0 {_BAR:g} 8", class_="share", aria_hidden="true"
    )
