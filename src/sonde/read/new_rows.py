"""Rows of a growing folder, each once: as they arrive, across sealing and merging."""

from collections.abc import Sequence

import pyarrow as pa

from sonde.errors import KeyMissingError
from sonde.store.reader import LOOKS, FolderReader
from sonde.store.segments import Segment
from sonde.store.tables import Wanted


class FreshRows:
    """Remembers how far it has read in each segment."""

    def __init__(self, reader: FolderReader, columns: Sequence[str]) -> None:
        self._reader = reader
        self._wanted = Wanted(columns=tuple(columns))
        self._seen: dict[str, int] = {}

    def poll(self) -> list[pa.Table]:
        """What has come since the last call, in the order of writing; the reader is refreshed."""
        found: list[pa.Table] = []
        for _ in range(LOOKS):
            try:
                for segment in self._reader.segments:
                    found += self._fresh(segment)
                break
            except KeyMissingError:  # merged while we read: what was seen is remembered
                self._reader.refresh()
        return found

    def _fresh(self, segment: Segment) -> list[pa.Table]:
        parts = [(part, self._seen.get(part.segment, 0)) for part in segment.parts]
        if all(part.rows <= seen for part, seen in parts):
            return []
        rows = segment.rows(self._wanted)
        self._seen.update({part.segment: part.rows for part, _ in parts})
        if rows.num_rows != sum(part.rows for part, _ in parts):  # some are damaged
            return [] if any(seen for _, seen in parts) else [rows]
        found, first = [], 0
        for part, seen in parts:
            found.append(rows.slice(first + seen, part.rows - seen))
            first += part.rows
        return found
