"""New system samples of a growing job, each returned once, across sealing and merging."""

from dataclasses import dataclass

from sonde.errors import KeyMissingError
from sonde.records.metric import Series
from sonde.records.ranges import EVER
from sonde.store.backends import Backend
from sonde.store.format import SYSTEM
from sonde.store.layout import node_folder
from sonde.store.reader import MAX_ATTEMPTS, FolderReader
from sonde.store.rollups import Floats, Instants
from sonde.store.segments import Segment


@dataclass(frozen=True, slots=True)
class NewSamples:
    """Samples added since the last poll: instants, and values as (series, tick)."""

    series: tuple[Series, ...]
    times_ns: Instants
    values: Floats


class NewSampleReader:
    """Tracks how far each segment has been read."""

    def __init__(self, backend: Backend, node: str) -> None:
        self._reader = FolderReader(backend, node_folder(node), SYSTEM)
        self._rows_read: dict[str, int] = {}

    def poll(self) -> list[NewSamples]:
        """Samples added since the last call, oldest first."""
        news: list[NewSamples] = []
        for _ in range(MAX_ATTEMPTS):
            self._reader.refresh()
            try:
                for segment in self._reader.segments:
                    news += self._news(segment)
            except KeyMissingError:  # merged during reading: progress is kept
                continue
            break
        return news

    def _news(self, segment: Segment) -> list[NewSamples]:
        new_slices = self._fresh_rows(segment)
        if not new_slices:
            return []
        times, values = segment.samples([series.key for series in segment.series], EVER)
        self._rows_read.update({source.segment: source.rows for source in segment.parts})
        if len(times) != sum(source.rows for source in segment.parts):
            return []  # damaged: it is unknown which rows remain
        return [NewSamples(segment.series, times[rows], values[:, rows]) for rows in new_slices]

    def _fresh_rows(self, segment: Segment) -> list[slice]:
        new_slices = []
        first = 0
        for source in segment.parts:
            read_rows = self._rows_read.get(source.segment, 0)
            if source.rows > read_rows:
                new_slices.append(slice(first + read_rows, first + source.rows))
            first += source.rows
        return new_slices
