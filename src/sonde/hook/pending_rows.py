"""Rows that wait for the next flush: handed over by the thread that trains, written by another."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from sonde.store.format import Family
from sonde.store.writer import Writer

Row = Sequence[Any]


class Rows:
    """The waiting rows of some families."""

    def __init__(self, *families: Family) -> None:
        self._waiting: dict[str, tuple[Family, deque[Row]]] = {
            family.name: (family, deque()) for family in families
        }

    def adder(self, family: Family) -> Callable[[Row], None]:
        """What takes a row of a family; as cheap as can be."""
        return self.of(family).append

    def of(self, family: Family) -> deque[Row]:
        """The rows of a family that wait."""
        return self._waiting[family.name][1]

    def clear(self) -> None:
        """Forgets them all."""
        for _, rows in self._waiting.values():
            rows.clear()

    def write(self, writer: Writer) -> None:
        """Hands to the writer what has come together."""
        for family, waiting in self._waiting.values():
            rows = [waiting.popleft() for _ in range(len(waiting))]
            if rows:
                place = [name for name, _ in family.columns].index(family.time_column)
                columns = list(zip(*rows, strict=True))
                writer.add_columns(family, columns, min(columns[place]), max(columns[place]))
