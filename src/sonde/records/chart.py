"""Charts as data: numbers and texts, no pixels.

There is one dataclass per mark (the kind of chart). The dashboard, the report and notebooks draw
the same documents. Units are those that metrics are stored in (`seconds`, `percent`, `bytes`,
`bytes_per_second`, …); `time` is an ISO text. A column without a unit holds texts or plain counts;
a column with the unit `row` takes its unit from the column `unit` of the same row. A tone names
what a color represents: a phase (`forward`), a device (`gpu`), a severity (`warning`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

Cell = str | float | int | bool | None
Reals = Sequence[float | None]

_DIGITS = 6  # significant digits of drawn values; tables keep all digits


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A chart as data."""

    mark: ClassVar[str]
    title: str
    note: str = ""  # one or two sentences about the data
    coarsened: str = ""  # what was omitted to limit the size

    def document(self) -> dict[str, Any]:
        """The chart as plain JSON values; non-finite numbers become null."""
        values = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        return {"mark": self.mark, **values}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table with its unit."""

    name: str
    title: str
    unit: str = ""
    is_number: bool = True
    tone: str = ""  # draws a bar of this color behind the number; only for percent


@dataclass(frozen=True, kw_only=True)
class Table(Spec):
    """A sortable table."""

    mark: ClassVar[str] = "table"
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int | None = None  # number of rows, if not all are included
    is_quiet: bool = False  # collapsed to its title by default

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, keyed by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A labeled number or text."""

    name: str
    title: str
    value: Cell
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts(Spec):
    """Labeled numbers and texts."""

    mark: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values along an axis, with a low-high band if each value aggregates several."""

    label: str
    values: Reals
    low: Reals | None = None
    high: Reals | None = None
    tone: str = ""
    has_markers: bool = False  # draw a marker for each value (sparse data)

    def document(self) -> dict[str, Any]:
        """The curve as JSON values, rounded for drawing."""
        drawn = {"values": self.values, "low": self.low, "high": self.high}
        return {
            "label": self.label,
            "tone": self.tone,
            "has_markers": self.has_markers,
            **{name: None if row is None else _rounded(row) for name, row in drawn.items()},
        }


@dataclass(frozen=True, kw_only=True)
class LineChart(Spec):
    """Curves over steps, or over seconds since the job started."""

    mark: ClassVar[str] = "line"
    x: Reals
    x_title: str
    x_unit: str = ""
    unit: str = ""
    curves: tuple[Curve, ...]
    is_logarithmic: bool = False
    low: float | None = None  # fixed ends of the y-axis
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class BarSeries:
    """One value per label, all in one color."""

    label: str
    values: Reals
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars(Spec):
    """One bar per label and series, side by side."""

    mark: ClassVar[str] = "bars"
    labels: tuple[str, ...]
    parts: tuple[BarSeries, ...]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class StackedBars(Spec):
    """One bar per label, stacked from its series."""

    mark: ClassVar[str] = "stacked_bars"
    labels: tuple[str, ...]
    parts: tuple[BarSeries, ...]
    unit: str = ""
    is_horizontal: bool = True


@dataclass(frozen=True, kw_only=True)
class Histogram(Spec):
    """Counts of values between edges, one toggleable series per group."""

    mark: ClassVar[str] = "histogram"
    edges: Reals
    parts: tuple[BarSeries, ...]  # each has one value less than there are edges
    unit: str = ""
    counted: str = "samples"  # what was counted


@dataclass(frozen=True, kw_only=True)
class Box:
    """The distribution of one group's values."""

    label: str
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    minimum: float
    maximum: float
    count: int
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class BoxPlot(Spec):
    """Boxes from p25 to p75 with whiskers to p5 and p95, side by side."""

    mark: ClassVar[str] = "box_plot"
    boxes: tuple[Box, ...]
    unit: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Heatmap(Spec):
    """A color per row and column."""

    mark: ClassVar[str] = "heatmap"
    rows: tuple[str, ...]
    x: Reals  # start of each column: steps, or seconds since the job started
    x_title: str
    x_unit: str = ""
    values: tuple[Reals, ...]  # one sequence per row
    unit: str = ""
    low: float
    high: float
    is_logarithmic: bool = False
    marks_zero: bool = False  # draw exact zeros in a color of their own
    columns: tuple[str, ...] = ()  # column names, if the columns are not an axis


@dataclass(frozen=True, kw_only=True)
class Span:
    """An interval on a lane, in seconds since the job started."""

    start: float
    end: float
    label: str
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A titled row of intervals."""

    label: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, kw_only=True)
class Lanes(Spec):
    """Intervals of time, lane by lane."""

    mark: ClassVar[str] = "lanes"
    lanes: tuple[Lane, ...]
    start: float = 0.0
    end: float


@dataclass(frozen=True, kw_only=True)
class Text(Spec):
    """Paragraphs of text."""

    mark: ClassVar[str] = "text"
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Group(Spec):
    """Several charts that belong together."""

    mark: ClassVar[str] = "group"
    parts: tuple[Spec, ...]


def _plain(value: Any) -> Any:
    if isinstance(value, Spec | Curve):
        return value.document()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "__dataclass_fields__"):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _rounded(values: Reals) -> list[float | None]:
    """Values rounded to visible precision, which keeps pages small."""
    return [
        None if number is None or not math.isfinite(number) else float(f"{number:.{_DIGITS}g}")
        for number in values
    ]
