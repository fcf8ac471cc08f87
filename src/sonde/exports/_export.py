"""The base class of exports, and the data to export.

Data is read in batches of rows, so that jobs of any length fit into memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from sonde.exports._training import TrainingData
from sonde.read.python_profiles import ReadProfile
from sonde.read.system import SystemReader
from sonde.read.timeline import Timeline
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.store.rollups import Floats, Instants

_BATCH_ROWS = 1 << 14
STATISTICS = ("minimum", "mean", "maximum")

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Column:
    """A series, or one statistic of it if buckets are exported."""

    series: Series
    statistic: str = ""

    @property
    def name(self) -> str:
        """The title of the column."""
        return f"{self.series.key} {self.statistic}".rstrip()


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one node: instants, and values as (column, row); NaN if missing."""

    node: str
    times_ns: Instants
    values: Floats


@dataclass(frozen=True)
class Selection:
    """The data of a job to export."""

    job: str
    readers: tuple[SystemReader, ...]
    series: tuple[Series, ...]
    within: TimeRange = EVER
    buckets: int | None = None
    timeline: Timeline | None = None  # if the format needs it
    python: tuple[ReadProfile, ...] = ()  # if the format needs them
    training: TrainingData | None = None  # losses, scalars or tensors instead of metrics

    @property
    def columns(self) -> tuple[Column, ...]:
        """The exported columns."""
        return self.columns_of(self.series)

    def columns_of(self, series: Sequence[Series]) -> tuple[Column, ...]:
        """The columns of some series."""
        statistics = STATISTICS if self.buckets else ("",)
        return tuple(Column(each, statistic) for each in series for statistic in statistics)

    @property
    def values(self) -> int:
        """The approximate number of values, for a progress bar."""
        if self.timeline is not None:
            return self.timeline.size
        if self.training is not None:
            return self.training.size
        extents = [reader.extent for reader in self.readers]
        rows = sum(extent.rows for extent in extents if extent is not None)
        if self.buckets:
            rows = min(rows, self.buckets * len(self.readers))
        return rows * len(self.columns)

    def batches(
        self, series: Sequence[Series] | None = None, node: str | None = None
    ) -> Iterator[Batch]:
        """The rows of each node in order of time."""
        selected = self.series if series is None else series
        for reader in self.readers:
            if node in (None, reader.node):
                yield from self._node_batches(reader, selected)

    def _node_batches(self, reader: SystemReader, series: Sequence[Series]) -> Iterator[Batch]:
        if self.buckets:
            rollup = reader.buckets(series, self.buckets, self.within)
            statistics = (rollup.minimum, rollup.mean, rollup.maximum)
            shape = (len(series) * len(statistics), len(rollup.starts_ns))
            yield Batch(reader.node, rollup.starts_ns, np.stack(statistics, axis=1).reshape(shape))
            return
        for within in _batch_ranges(reader, self.within):
            times, values = reader.samples(series, within)
            if len(times):
                yield Batch(reader.node, times, values)


def _batch_ranges(reader: SystemReader, within: TimeRange) -> Iterator[TimeRange]:
    """Split a time range into ranges of about one batch each."""
    extent = reader.extent
    if extent is None:
        return
    first_ns, end_ns = extent.first_ns, extent.last_ns + 1
    width_ns = max(1, -(-(end_ns - first_ns) * _BATCH_ROWS // extent.rows))
    if within.start_ns is not None:
        first_ns = max(first_ns, within.start_ns)
    if within.end_ns is not None:
        end_ns = min(end_ns, within.end_ns)
    for start_ns in range(first_ns, end_ns, width_ns):
        yield TimeRange(start_ns, min(start_ns + width_ns, end_ns))


class Export(ABC):
    """One format. The first line of the docstring is its description."""

    is_text: bool = True  # can be printed to a terminal
    needs_timeline: bool = False  # in addition to metrics
    needs_python: bool = False  # Python profiles instead of metrics
    needs_training: bool = False  # scalars and tensors instead of metrics
    has_tables: bool = False  # of metrics, losses, scalars or tensors
    file_mark: str = ""  # the program that reads the format requires it in the file's name

    @abstractmethod
    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        """Write the selection.

        Args:
            selection: The data to write.
            sink: The output, which may not be seekable.
            advance: Called with the number of values written since the last call.
        """
