"""Timelines of workers and nodes on a common clock.

Slices are activities of workers: steps, phases, operators, kernels, collectives, Python calls and
data loading. Counters are system metrics. Clock offsets are provided by the caller.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.read.collectives import node_of, steps_at
from sonde.read.profiles import operations_of
from sonde.read.steps import MAIN_LANE
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.metric import Series
from sonde.records.profile import NO_CORRELATION
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.rollups import Floats, Instants
from sonde.store.tables import from_numpy, from_texts, texts_of, to_numpy

if TYPE_CHECKING:
    from sonde.records.arrays import IntArray

STEPS, PHASES, WINDOWS = "steps", "phases", "profile windows"
_HOST = ("", "cpu")
_MAX_SLICE_NS = 600 * NANOSECONDS  # longest slice considered when reading a range
_TEXT = pa.dictionary(pa.int32(), pa.string())
SLICES = pa.schema(
    [
        ("track", _TEXT),
        ("category", _TEXT),
        ("name", _TEXT),
        ("device", _TEXT),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("step", pa.int64()),
        ("correlation", pa.int64()),
        ("module", _TEXT),
        ("detail", _TEXT),
    ]
)


@dataclass(frozen=True)
class WorkerSlices:
    """The slices of one worker, in order of time; slices of a track nest."""

    worker: int
    node: str
    table: pa.Table  # columns as in SLICES


@dataclass(frozen=True)
class NodeCounters:
    """The counters of one node: instants, and values as (series, instant)."""

    node: str
    series: tuple[Series, ...]
    times_ns: Instants
    values: Floats


@dataclass(frozen=True)
class Timeline:
    """Slices and counters on a common clock."""

    job: str
    workers: tuple[WorkerSlices, ...]
    nodes: tuple[NodeCounters, ...]
    facts: Mapping[str, object] = field(default_factory=dict)  # about the whole timeline

    @property
    def size(self) -> int:
        """The number of slices and counter values."""
        slices = sum(source.table.num_rows for source in self.workers)
        return int(slices + sum(source.values.size for source in self.nodes))


@dataclass(frozen=True)
class Sources:
    """The readers of a timeline."""

    workers: tuple[WorkerReader, ...]
    systems: tuple[SystemReader, ...]
    offsets_ns: Mapping[str, int] = field(default_factory=dict)  # by node; 0 by default
    metrics: tuple[str, ...] = ("*",)  # patterns

    def slices(self, within: TimeRange = EVER) -> tuple[WorkerSlices, ...]:
        """The slices of the workers in a range of the corrected clock."""
        slices = []
        for reader in self.workers:
            node = node_of(reader)
            offset_ns = self.offsets_ns.get(node, 0)
            table = _slices(reader, _node_range(within, offset_ns))
            slices.append(WorkerSlices(reader.rank, node, _corrected(table, offset_ns)))
        return tuple(slices)

    def counters(self, within: TimeRange = EVER) -> tuple[NodeCounters, ...]:
        """The counters of the nodes in a range of the corrected clock."""
        counters = []
        for reader in self.systems:
            offset_ns = self.offsets_ns.get(reader.node, 0)
            series = self.series_of(reader)
            times_ns, values = reader.samples(series, _node_range(within, offset_ns))
            counters.append(NodeCounters(reader.node, series, times_ns - offset_ns, values))
        return tuple(counters)

    def series_of(self, reader: SystemReader) -> tuple[Series, ...]:
        """The requested series of a node."""
        return tuple(
            series
            for series in reader.series()
            if any(fnmatchcase(series.metric.name, pattern) for pattern in self.metrics)
        )


def _node_range(within: TimeRange, offset_ns: int) -> TimeRange:
    """A range of the corrected clock, converted to a node's clock."""
    return TimeRange(
        None if within.start_ns is None else within.start_ns + offset_ns,
        None if within.end_ns is None else within.end_ns + offset_ns,
    )


def _slices(reader: WorkerReader, within: TimeRange) -> pa.Table:
    """All slices that overlap a range, in order."""
    start_ns = None if within.start_ns is None else within.start_ns - _MAX_SLICE_NS
    wide = TimeRange(start_ns, within.end_ns)
    tables = [_of_events(reader, wide), _of_operations(reader, wide)]
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    starts_ns, durations_ns = to_numpy(table["start_ns"]), to_numpy(table["duration_ns"])
    order = np.lexsort((-durations_ns, starts_ns))
    if within.start_ns is not None:
        is_over = (starts_ns + durations_ns <= within.start_ns) & (starts_ns < within.start_ns)
        order = order[~is_over[order]]
    return table.take(from_numpy(order))


def _of_events(reader: WorkerReader, within: TimeRange) -> pa.Table:
    rows = reader.folder(EVENTS).rows(within)
    return _table(
        {
            **{name: rows[name] for name in rows.column_names},
            "track": _tracks(rows["category"], rows["lane"], _event_track),
            "device": _repeated("cpu", rows.num_rows),
            "correlation": from_numpy(np.full(rows.num_rows, NO_CORRELATION, dtype=np.int64)),
            "module": _repeated("", rows.num_rows),
        }
    )


def _event_track(category: str, lane: str) -> str:
    if category == EventCategory.STEP.value:
        return STEPS
    if category == EventCategory.WINDOW.value:
        return WINDOWS
    title = f"device {PHASES}" if category == EventCategory.DEVICE.value else PHASES
    return title if lane == MAIN_LANE else f"{title} {lane}"


def _of_operations(reader: WorkerReader, within: TimeRange) -> pa.Table:
    rows = operations_of(reader, within)
    return _table(
        {
            **{name: rows[name] for name in rows.column_names},
            "track": _tracks(rows["device"], rows["lane"], _operation_track),
            "step": from_numpy(steps_at(reader, to_numpy(rows["start_ns"]))),
        }
    )


def _operation_track(device: str, lane: str) -> str:
    return lane if device in _HOST else f"{device} {lane}"


def _tracks(
    first: pa.ChunkedArray, second: pa.ChunkedArray, title: Callable[[str, str], str]
) -> pa.Array:
    """Combine two columns into a text, computed once per distinct pair."""
    texts, which = texts_of(first)
    second_texts, where = texts_of(second)
    pairs = which.astype(np.int64) * (len(second_texts) + 1) + where
    distinct, indices = np.unique(pairs, return_inverse=True)
    made = [
        title(texts[item // (len(second_texts) + 1)], second_texts[item % (len(second_texts) + 1)])
        for item in distinct
    ]
    titles = list(dict.fromkeys(made))
    numbers = np.array([titles.index(item) for item in made], dtype=np.int32)
    return _encoded(titles, numbers[indices])


def _table(columns: Mapping[str, object]) -> pa.Table:
    return pa.table({name: columns[name] for name in SLICES.names}, schema=SLICES)


def _encoded(distinct: Sequence[str], numbers: npt.NDArray[np.int32]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(from_numpy(numbers), from_texts(distinct))


def _repeated(text: str, rows: int) -> pa.Array:
    return _encoded([text], np.zeros(rows, dtype=np.int32))


def _corrected(table: pa.Table, offset_ns: int) -> pa.Table:
    starts_ns: IntArray = to_numpy(table["start_ns"]) - offset_ns
    index = table.schema.get_field_index("start_ns")
    return table.set_column(index, "start_ns", from_numpy(starts_ns))
