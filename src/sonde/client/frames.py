"""Tables of results that turn into whatever a person works with, and print well."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sonde.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TIME = pa.timestamp("ns", tz="UTC")


class Frame(ABC):
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


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"{package} is not installed. Get it with: pip install 'sonde[frames]'"
    )


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
