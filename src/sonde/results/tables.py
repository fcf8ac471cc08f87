"""Result tables that convert to Arrow, pandas and polars, and print as text and HTML."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import pyarrow as pa

from sonde.drawing.html import Element, element
from sonde.drawing.tables import table as html_table
from sonde.errors import MissingExtraError
from sonde.records.chart import Spec
from sonde.results.charts import rows_of
from sonde.results.plots import Plottable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TIME = pa.timestamp("ns", tz="UTC")
_MAX_ROWS = 20


class Frame(Plottable):
    """A result table that converts to Arrow, pandas and polars."""

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
            import polars as pl  # noqa: PLC0415 — an optional dependency
        except ModuleNotFoundError as error:
            raise _missing("polars") from error
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _is_empty(self) -> bool:
        return not self.to_arrow().num_rows

    def _chart_spec(self) -> Spec:
        return rows_of(self._shown(), type(self).__name__, units=self._units)

    _units: ClassVar[Mapping[str, str]] = {}  # of columns without a unit in their names

    def _shown(self) -> pa.Table:
        """The rows that a notebook shows."""
        return self.to_arrow()

    def _repr_html_(self) -> str:
        table = self._shown()
        if not table.num_rows:
            return str(element("p", repr(self)))
        rows = rows_of(table, "", _MAX_ROWS, self._units)
        return str(element("div", html_table(rows), *self._below()))

    def _below(self) -> Sequence[Element]:
        """Elements that a notebook shows below the table."""
        return ()


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"{package} is not installed. Install it with: pip install 'sonde[frames]'"
    )


def aligned(rows: Sequence[Sequence[str]], left_columns: int) -> str:
    """Format rows as a text table; the first `left_columns` columns are aligned left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if index < left_columns else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
