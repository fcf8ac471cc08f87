"""Charts of results: text in a terminal, interactive in a notebook, or a file."""

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from sonde.atomic_file import write_atomically
from sonde.drawing.sparklines import levels
from sonde.drawing.standalone import chart_frame, chart_page, chart_picture
from sonde.errors import UsageError
from sonde.records.chart import LineChart, Spec, Text

_WIDTH = 60
_MAX_LINES = 8


@dataclass(frozen=True)
class Plot:
    """A chart that notebooks display and `save` writes to a file."""

    spec: Spec

    def document(self) -> dict[str, Any]:
        """The chart as plain JSON values."""
        return self.spec.document()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart to an `.html` file (self-contained page) or an `.svg` file (image)."""
        file = Path(path)
        kind = file.suffix.lower()
        if kind not in (".html", ".svg"):
            raise UsageError(f"Cannot save a chart as {file.name!r}. Use the suffix .html or .svg.")
        text = chart_page(self.spec) if kind == ".html" else chart_picture(self.spec)
        if text is None:
            raise UsageError(f"{self.spec.title!r} is a table and has no image. Save it as .html.")
        write_atomically(file, partial(_write, text.encode()))
        return file

    def __repr__(self) -> str:
        header = f"<Plot {self.spec.mark}: {self.spec.title}; save as .html or .svg>"
        if not isinstance(self.spec, LineChart):
            return header
        curves = [
            curve for curve in self.spec.curves if any(value is not None for value in curve.values)
        ]
        names = max((len(curve.label) for curve in curves), default=0)
        lines = [
            f"{curve.label:<{names}} {_sparkline(curve.values)}" for curve in curves[:_MAX_LINES]
        ]
        return "\n".join([header, *lines])

    def _repr_html_(self) -> str:
        return chart_frame(self.spec)


class Plottable(ABC):
    """A result that can be plotted."""

    def plot(self) -> Plot:
        """A chart that notebooks display and `Plot.save` writes to a file."""
        if self._is_empty():
            return Plot(Text(title=type(self).__name__, paragraphs=(repr(self),)))
        return Plot(self._chart_spec())

    def _is_empty(self) -> bool:
        """Whether there is no data to plot."""
        return False

    @abstractmethod
    def _chart_spec(self) -> Spec:
        """The chart of this result."""


def _write(content: bytes, sink: BinaryIO) -> None:
    sink.write(content)


def _sparkline(values: Any) -> str:
    """A sparkline from the minimum to the maximum of a curve."""
    stride = max(1, -(-len(values) // _WIDTH))
    shown = [
        None if value is None or math.isnan(value) else float(value) for value in values[::stride]
    ]
    finite = [each for each in shown if each is not None]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    above = [None if each is None else each - low for each in shown]
    return f"{levels(above, high - low)} {low:.4g} … {high:.4g}"
