"""Charts as data: what is to be seen, in plain numbers and texts, and nothing about pixels.

One dataclass per mark, the way to draw it. The dashboard, the report and notebooks draw the same
documents. Units are those that metrics are stored in (`seconds`, `percent`, `bytes`,
`bytes_per_second`, …); `time` is an ISO text; a column without a unit holds texts or plain counts,
one with the unit `row` has that which stands in the column `unit` of its row.
A tone says what a color stands for: a phase (`forward`), a device (`gpu`), a severity (`warning`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

Cell = str | float | int | bool | None
Reals = Sequence[float | None]

_DIGITS = 6  # of what is drawn; tables keep every digit


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A picture as data."""

    mark: ClassVar[str]
    title: str
    note: str = ""  # a sentence or two, built from the numbers
    coarsened: str = ""  # what was left out to keep it small

    def document(self) -> dict[str, Any]:
        """As plain JSON values; what is not finite is null."""
        said = {one.name: _plain(getattr(self, one.name)) for one in fields(self)}
        return {"mark": self.mark, **said}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: what it holds, and in which unit."""

    name: str
    title: str
    unit: str = ""
    is_number: bool = True
    tone: str = ""  # a bar behind the number, of that color; only for percent


@dataclass(frozen=True, kw_only=True)
class Table(Spec):
    """Rows of values that a person sorts and reads."""

    mark: ClassVar[str] = "table"
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int | None = None  # rows there are, where not all are shown
    is_quiet: bool = False  # for who looks it up: folded to its title

    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        names = [one.name for one in self.columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One figure with its name: a number with a unit, or a text."""

    name: str
    title: str
    value: Cell
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts(Spec):
    """Single figures, each with its name."""

    mark: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values along an axis; a band from low to high where a value stands for several."""

    label: str
    values: Reals
    low: Reals | None = None
    high: Reals | None = None
    tone: str = ""
    has_markers: bool = False  # few values, far from each other: each has a marker

    def document(self) -> dict[str, Any]:
        """With as many digits as can be seen."""
        drawn = {"values": self.values, "low": self.low, "high": self.high}
        return {
            "label": self.label,
            "tone": self.tone,
            "has_markers": self.has_markers,
            **{name: None if row is None else _seen(row) for name, row in drawn.items()},
        }


@dataclass(frozen=True, kw_only=True)
class LineChart(Spec):
    """Curves over one axis: steps, or seconds since the job began."""

    mark: ClassVar[str] = "line"
    x: Reals
    x_title: str
    x_unit: str = ""
    unit: str = ""
    curves: tuple[Curve, ...]
    is_logarithmic: bool = False
    low: float | None = None  # the ends of the axis, where they are known beforehand
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    """One value per label, all of one color."""

    label: str
    values: Reals
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars(Spec):
    """A bar per label; of several parts, side by side."""

    mark: ClassVar[str] = "bars"
    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class StackedBars(Spec):
    """A bar per label, made of parts that add up."""

    mark: ClassVar[str] = "stacked_bars"
    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    unit: str = ""
    is_horizontal: bool = True


@dataclass(frozen=True, kw_only=True)
class Histogram(Spec):
    """How many values fell between edges; a part per group, which can be switched off."""

    mark: ClassVar[str] = "histogram"
    edges: Reals
    parts: tuple[Part, ...]  # one value less than edges
    unit: str = ""
    counted: str = "samples"  # what was counted


@dataclass(frozen=True, kw_only=True)
class Box:
    """Where most values of one group lie."""

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
    x: Reals  # where columns begin: steps, or seconds since the job began
    x_title: str
    x_unit: str = ""
    values: tuple[Reals, ...]  # a row of values per row
    unit: str = ""
    low: float
    high: float
    is_logarithmic: bool = False
    columns: tuple[str, ...] = ()  # names of the columns, where they are no axis


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch on a lane, in seconds since the job began."""

    start: float
    end: float
    label: str
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Stretches below each other's title."""

    label: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, kw_only=True)
class Lanes(Spec):
    """Stretches of time, lane by lane."""

    mark: ClassVar[str] = "lanes"
    lanes: tuple[Lane, ...]
    start: float = 0.0
    end: float


@dataclass(frozen=True, kw_only=True)
class Text(Spec):
    """Sentences, and nothing to draw."""

    mark: ClassVar[str] = "text"
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Group(Spec):
    """Several pictures that answer one question."""

    mark: ClassVar[str] = "group"
    parts: tuple[Spec, ...]


def _plain(value: Any) -> Any:
    if isinstance(value, Spec | Curve):
        return value.document()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


def _seen(values: Reals) -> list[float | None]:
    """Rounded to what can be seen: most of a page would be digits otherwise."""
    return [
        None if one is None or not math.isfinite(one) else float(f"{one:.{_DIGITS}g}")
        for one in values
    ]
