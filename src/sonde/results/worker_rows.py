"""Rows of several workers as one table, read on first use."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sonde.read.workers import WorkerReader
from sonde.results.tables import Frame


@dataclass(frozen=True)
class WorkerRows(Frame):
    """Rows that workers recorded, of all their lives."""

    readers: tuple[WorkerReader, ...]

    def to_arrow(self) -> pa.Table:
        """All rows, in the order each worker recorded them."""
        return self._table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @cached_property
    def _table(self) -> pa.Table:
        tables = [self._worker_table(reader) for reader in self.readers]
        return pa.concat_tables(tables) if tables else pa.table({})

    @abstractmethod
    def _worker_table(self, reader: WorkerReader) -> pa.Table:
        """The rows of one worker."""
