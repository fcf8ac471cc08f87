"""New rows of a growing folder, each returned once, across sealing and merging."""

from collections.abc import Sequence

import pyarrow as pa

from sonde.errors import KeyMissingError
from sonde.store.reader import MAX_ATTEMPTS, FolderReader
from sonde.store.segments import Segment
from sonde.store.tables import RowQuery


class NewRows:
    """Tracks how far each segment has been read."""

    def __init__(self, reader: FolderReader, columns: Sequence[str]) -> None:
        self._reader = reader
        self._query = RowQuery(columns=tuple(columns))
        self._rows_read: dict[str, int] = {}

    def poll(self) -> list[pa.Table]:
        """Rows added since the last call, in order of writing; call after refreshing the reader."""
        tables: list[pa.Table] = []
        for _ in range(MAX_ATTEMPTS):
            try:
                for segment in self._reader.segments:
                    tables += self._new_tables(segment)
                break
            except KeyMissingError:  # merged during reading: progress is kept
                self._reader.refresh()
        return tables

    def _new_tables(self, segment: Segment) -> list[pa.Table]:
        sources = [(source, self._rows_read.get(source.segment, 0)) for source in segment.parts]
        if all(source.rows <= read_rows for source, read_rows in sources):
            return []
        rows = segment.rows(self._query)
        self._rows_read.update({source.segment: source.rows for source, _ in sources})
        if rows.num_rows != sum(source.rows for source, _ in sources):  # some rows are damaged
            return [] if any(read_rows for _, read_rows in sources) else [rows]
        tables, first = [], 0
        for source, read_rows in sources:
            tables.append(rows.slice(first + read_rows, source.rows - read_rows))
            first += source.rows
        return tables
