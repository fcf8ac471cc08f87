"""Everything that has a time, of some workers and nodes, on one clock.

Slices are what the workers did: steps, phases, operators, kernels, collectives, Python, loaders.
Counters are what their machines measured. Clocks are corrected by what the caller knows of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.read.collectives import node_of, steps_at
from sonde.read.profiles import operations_of
from sonde.read.steps import MAIN_LANE
from sonde.read.system import SystemReader
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.metric import Series
from sonde.records.profile import NO_CORRELATION
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import EventCategory
from sonde.store.format import EVENTS
from sonde.store.rollups import Floats, Instants
from sonde.store.tables import from_numpy, from_texts, texts_of, to_numpy

STEPS, PHASES, WINDOWS = "steps", "phases", "profile windows"
_HOST = ("", "cpu")
_LONGEST_NS = 600 * NANOSECONDS  # what began so long before a range may reach into it
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
    """What one worker did, in order of time; slices of a track lie in or beside each other."""

    worker: int
    node: str
    table: pa.Table  # columns as in SLICES


@dataclass(frozen=True)
class NodeCounters:
    """What one node's machine measured: instants, and values as (series, instant)."""

    node: str
    series: tuple[Series, ...]
    times_ns: Instants
    values: Floats


@dataclass(frozen=True)
class Timeline:
    """Slices and counters on one clock."""

    job: str
    workers: tuple[WorkerSlices, ...]
    nodes: tuple[NodeCounters, ...]
    facts: Mapping[str, object] = field(default_factory=dict)  # about it as a whole

    @property
    def size(self) -> int:
        """How many slices and values there are."""
        slices = sum(one.table.num_rows for one in self.workers)
        return int(slices + sum(one.values.size for one in self.nodes))


@dataclass(frozen=True)
class Sources:
    """Where a timeline comes from."""

    workers: tuple[WorkerReader, ...]
    systems: tuple[SystemReader, ...]
    offsets_ns: Mapping[str, int] = field(default_factory=dict)  # by node; 0 where nothing is said
    metrics: tuple[str, ...] = ("*",)  # patterns

    def slices(self, within: TimeRange = EVER) -> tuple[WorkerSlices, ...]:
        """What the workers did in a range of the corrected clock."""
        found = []
        for reader in self.workers:
            node = node_of(reader)
            offset_ns = self.offsets_ns.get(node, 0)
            table = _slices(reader, _moved(within, offset_ns))
            found.append(WorkerSlices(reader.rank, node, _corrected(table, offset_ns)))
        return tuple(found)

    def counters(self, within: TimeRange = EVER) -> tuple[NodeCounters, ...]:
        """What the machines measured in a range of the corrected clock."""
        found = []
        for reader in self.systems:
            offset_ns = self.offsets_ns.get(reader.node, 0)
            series = self.series_of(reader)
            times_ns, values = reader.samples(series, _moved(within, offset_ns))
            found.append(NodeCounters(reader.node, series, times_ns - offset_ns, values))
        return tuple(found)

    def series_of(self, reader: SystemReader) -> tuple[Series, ...]:
        """The series of a node that are asked for."""
        return tuple(
            one
            for one in reader.series()
            if any(fnmatchcase(one.metric.name, pattern) for pattern in self.metrics)
        )


def _moved(within: TimeRange, offset_ns: int) -> TimeRange:
    """A range of the corrected clock, as a node's own clock shows it."""
    return TimeRange(
        None if within.start_ns is None else within.start_ns + offset_ns,
        None if within.end_ns is None else within.end_ns + offset_ns,
    )


def _slices(reader: WorkerReader, within: TimeRange) -> pa.Table:
    """All that began before the end of a range and was not over at its start, in order."""
    start_ns = None if within.start_ns is None else within.start_ns - _LONGEST_NS
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
            "device": _same("cpu", rows.num_rows),
            "correlation": from_numpy(np.full(rows.num_rows, NO_CORRELATION, dtype=np.int64)),
            "module": _same("", rows.num_rows),
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
    """A text of two columns; it is made once per distinct pair."""
    texts, which = texts_of(first)
    others, where = texts_of(second)
    pairs = which.astype(np.int64) * (len(others) + 1) + where
    distinct, places = np.unique(pairs, return_inverse=True)
    made = [
        title(texts[one // (len(others) + 1)], others[one % (len(others) + 1)]) for one in distinct
    ]
    titles = list(dict.fromkeys(made))
    numbers = np.array([titles.index(one) for one in made], dtype=np.int32)
    return _encoded(titles, numbers[places])


def _table(columns: Mapping[str, object]) -> pa.Table:
    return pa.table({name: columns[name] for name in SLICES.names}, schema=SLICES)


def _encoded(distinct: Sequence[str], numbers: npt.NDArray[np.int32]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(from_numpy(numbers), from_texts(distinct))


def _same(text: str, rows: int) -> pa.Array:
    return _encoded([text], np.zeros(rows, dtype=np.int32))


def _corrected(table: pa.Table, offset_ns: int) -> pa.Table:
    starts_ns: Numbers = to_numpy(table["start_ns"]) - offset_ns
    place = table.schema.get_field_index("start_ns")
    return table.set_column(place, "start_ns", from_numpy(starts_ns))
