"""Tables of results that turn into whatever a person works with, and print well."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import pyarrow as pa

from sonde.drawing.html import Element, element
from sonde.drawing.tables import table as html_table
from sonde.errors import MissingExtraError
from sonde.formats import format_duration
from sonde.records.chart import Spec
from sonde.results.charts import rows_of
from sonde.results.plots import Drawn

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TIME = pa.timestamp("ns", tz="UTC")
_MOST_ROWS = 20


class Frame(Drawn):
    """A table of results that turns into whatever a person works with."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""

    def to_pandas(self) -> "pd.DataFrame":
        """As a pandas data frame."""
        try:
            return cast("pd.DataFrame", self.to_arrow().to_pandas())
        except ModuleNotFoundError as error:
            raise _missing("pandas") from error

    def to_polars(self) -> "pl.DataFrame":
        """As a polars data frame."""
        try:
            import polars as pl  # noqa: PLC0415 — an optional extra, loaded when asked for
        except ModuleNotFoundError as error:
            raise _missing("polars") from error
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _is_empty(self) -> bool:
        return not self.to_arrow().num_rows

    def _picture(self) -> Spec:
        return rows_of(self._shown(), type(self).__name__, units=self._units)

    _units: ClassVar[Mapping[str, str]] = {}  # of columns whose names do not say it

    def _shown(self) -> pa.Table:
        """What a notebook shows of it."""
        return self.to_arrow()

    def _repr_html_(self) -> str:
        table = self._shown()
        if not table.num_rows:
            return str(element("p", repr(self)))
        rows = rows_of(table, "", _MOST_ROWS, self._units)
        return str(element("div", html_table(rows), *self._below()))

    def _below(self) -> Sequence[Element]:
        """What a notebook says below the table."""
        return ()


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"{package} is not installed. Get it with: pip install 'sonde[frames]'"
    )


def said_time(seconds: float) -> str:
    """A duration for a cell; not a number where nothing was measured."""
    if math.isnan(seconds):
        return "nan"
    return format_duration(seconds) if seconds else "0"


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Columns as wide as they need to be, the first ones flush left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
