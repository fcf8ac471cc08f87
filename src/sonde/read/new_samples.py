"""Follows a growing job: every sample once, as it arrives, across sealing and merging."""

from dataclasses import dataclass

from sonde.errors import KeyMissingError
from sonde.records.metric import Series
from sonde.records.ranges import EVER
from sonde.store.backends import Backend
from sonde.store.format import SYSTEM
from sonde.store.layout import node_folder
from sonde.store.reader import LOOKS, FolderReader
from sonde.store.rollups import Floats, Instants
from sonde.store.segments import Segment


@dataclass(frozen=True, slots=True)
class News:
    """Samples that were not there before: instants, and values as (series, tick)."""

    series: tuple[Series, ...]
    times_ns: Instants
    values: Floats


class Follower:
    """Remembers how far it has read in each segment."""

    def __init__(self, backend: Backend, node: str) -> None:
        self._reader = FolderReader(backend, node_folder(node), SYSTEM)
        self._seen: dict[str, int] = {}

    def poll(self) -> list[News]:
        """What has arrived since the last call, oldest first."""
        news: list[News] = []
        for _ in range(LOOKS):
            self._reader.refresh()
            try:
                for segment in self._reader.segments:
                    news += self._news(segment)
            except KeyMissingError:  # merged while we read: what was seen is remembered
                continue
            break
        return news

    def _news(self, segment: Segment) -> list[News]:
        fresh = self._fresh_rows(segment)
        if not fresh:
            return []
        times, values = segment.samples([one.key for one in segment.series], EVER)
        self._seen.update({part.segment: part.rows for part in segment.parts})
        if len(times) != sum(part.rows for part in segment.parts):
            return []  # damaged: which rows are left cannot be told
        return [News(segment.series, times[rows], values[:, rows]) for rows in fresh]

    def _fresh_rows(self, segment: Segment) -> list[slice]:
        fresh = []
        first = 0
        for part in segment.parts:
            seen = self._seen.get(part.segment, 0)
            if part.rows > seen:
                fresh.append(slice(first + seen, first + part.rows))
            first += part.rows
        return fresh
