"""Results as show asks for them: a table, and its rows as plain values."""

from typing import Any, Protocol

import pyarrow as pa


class Rows(Protocol):
    """A table of results."""

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""


class Documents(Rows, Protocol):
    """A table of results that also tells each row as plain values."""

    def documents(self) -> list[dict[str, Any]]:
        """As plain JSON values."""
