"""Rows that wait for the next flush: added by the training thread, written by the worker thread."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from sonde.store.format import Family
from sonde.store.writer import Writer

Row = Sequence[Any]


class Rows:
    """Pending rows by family."""

    def __init__(self, *families: Family) -> None:
        self._waiting: dict[str, tuple[Family, deque[Row]]] = {
            family.name: (family, deque()) for family in families
        }

    def adder(self, family: Family) -> Callable[[Row], None]:
        """The bound method that adds a row of a family, for hot paths."""
        return self.of(family).append

    def of(self, family: Family) -> deque[Row]:
        """The pending rows of a family."""
        return self._waiting[family.name][1]

    def clear(self) -> None:
        """Drop all rows."""
        for _, rows in self._waiting.values():
            rows.clear()

    def write(self, writer: Writer) -> None:
        """Pass all pending rows to the writer."""
        for family, waiting in self._waiting.values():
            rows = [waiting.popleft() for _ in range(len(waiting))]
            if rows:
                index = [name for name, _ in family.columns].index(family.time_column)
                columns = list(zip(*rows, strict=True))
                writer.add_columns(family, columns, min(columns[index]), max(columns[index]))
