"""A time range of a job: events of the training and metrics of the machines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.durations import durations_of
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.chart import Group, Lane, Lanes, Span, Spec
from sonde.records.ranges import TimeRange
from sonde.records.step import EventCategory, Mode
from sonde.results.events import Events
from sonde.results.record_rows import RecordRows
from sonde.results.system import SystemMetrics
from sonde.results.tables import Frame
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_EARLIER_NS = 600 * NANOSECONDS  # events that began up to this long before may overlap it
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_MAX_SPANS = 300
_MAX_LANES = 20
_UTILIZATION = "*.utilization_percent"


@dataclass(frozen=True, slots=True)
class EventTotal:
    """All events of one name of one worker, clipped to the time range."""

    worker: int
    category: str
    name: str
    count: int
    seconds: float
    mean: float
    p95: float
    percent: float  # of the time range


@dataclass(frozen=True)
class _EventGroup:
    """Events of one name of one worker, clipped to the time range."""

    worker: int
    category: str
    name: str
    starts_ns: IntArray
    ends_ns: IntArray


@dataclass(frozen=True)
class Selection(Frame):
    """Events and metrics between two times; events are clipped to them."""

    readers: tuple[WorkerReader, ...]
    systems: Callable[[], tuple[SystemReader, ...]]
    within: TimeRange
    start_ns: int  # start of the job

    @property
    def seconds(self) -> float:
        """The duration of the time range."""
        return ((self.within.end_ns or 0) - (self.within.start_ns or 0)) / NANOSECONDS

    @property
    def events(self) -> Events:
        """The events that began in the time range."""
        return Events(self.readers, within=self.within)

    def system(self, metric: str = "*", device: str | None = None) -> SystemMetrics:
        """System metrics in the time range, as for `job.system`."""
        return SystemMetrics(self.systems(), metric, device, self.within, self.start_ns)

    @cached_property
    def totals(self) -> tuple[EventTotal, ...]:
        """Totals by worker, category and name, the longest first."""
        rows = [_total(group, self.seconds) for group in self._groups]
        return tuple(sorted(rows, key=lambda row: (row.worker, -row.seconds)))

    def to_arrow(self) -> pa.Table:
        """One row per worker and event name."""
        return RecordRows(self.totals, EventTotal).to_arrow()

    _units = dict.fromkeys(("mean", "p95"), "seconds")

    def __repr__(self) -> str:
        empty_text = "No training events in this time range"
        rows = RecordRows(self.totals, EventTotal, empty_text, ("mean", "p95"))
        return f"{format_duration(self.seconds)}\n{rows}"

    @cached_property
    def _groups(self) -> tuple[_EventGroup, ...]:
        return tuple(group for reader in self.readers for group in self._of(reader))

    def _of(self, reader: WorkerReader) -> Iterator[_EventGroup]:
        first_ns, last_ns = self.within.start_ns or 0, self.within.end_ns or 0
        rows = reader.folder(EVENTS).rows(
            TimeRange(first_ns - _EARLIER_NS, last_ns), columns=_COLUMNS
        )
        starts_ns = to_numpy(rows["start_ns"])
        ends_ns = starts_ns + to_numpy(rows["duration_ns"])
        is_in = (ends_ns > first_ns) & (starts_ns < last_ns)
        names, name_numbers = texts_of(rows["name"])
        kinds, kind_numbers = texts_of(rows["category"])
        groups = name_numbers.astype(np.int64) * max(1, len(kinds)) + kind_numbers
        for group in np.unique(groups[is_in]).tolist():
            is_selected = is_in & (groups == group)
            yield _EventGroup(
                reader.rank,
                kinds[group % max(1, len(kinds))],
                names[group // max(1, len(kinds))],
                np.maximum(starts_ns[is_selected], first_ns),
                np.minimum(ends_ns[is_selected], last_ns),
            )

    def _chart_spec(self) -> Spec:
        """The utilization of the machines above the events of training."""
        first, last = self._since(self.within.start_ns or 0), self._since(self.within.end_ns or 0)
        lanes = tuple(self._lane(group) for group in self._groups[:_MAX_LANES])
        drawn: list[Spec] = []
        if self.system(_UTILIZATION).series:
            drawn.append(self.system(_UTILIZATION).plot().spec)
        drawn.append(Lanes(title="Training", lanes=lanes, start=first, end=last))
        return Group(
            title=f"{format_duration(first)} to {format_duration(last)}", parts=tuple(drawn)
        )

    def _lane(self, group: _EventGroup) -> Lane:
        longest = np.argsort(group.starts_ns - group.ends_ns, kind="stable")[:_MAX_SPANS]
        label = f"{group.worker} {group.name}" if len(self.readers) > 1 else group.name
        spans = [
            Span(
                start=self._since(int(group.starts_ns[index])),
                end=self._since(int(group.ends_ns[index])),
                label=group.name,
                tone=group.name if group.category == EventCategory.PHASE else Mode.TRAIN.value,
            )
            for index in np.sort(longest).tolist()
        ]
        return Lane(label=label, spans=tuple(spans))

    def _since(self, instant_ns: int) -> float:
        return (instant_ns - self.start_ns) / NANOSECONDS


def _total(group: _EventGroup, range_seconds: float) -> EventTotal:
    seconds = (group.ends_ns - group.starts_ns) / NANOSECONDS
    durations = durations_of(seconds)
    total = float(seconds.sum())
    return EventTotal(
        group.worker,
        group.category,
        group.name,
        durations.count,
        total,
        durations.mean,
        durations.p95,
        100 * total / range_seconds if range_seconds else 0.0,
    )
