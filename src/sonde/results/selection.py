"""A stretch of a job's time: what training did in it, and what the machines did meanwhile."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.percentiles import percentiles
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.chart import Group, Lane, Lanes, Span, Spec
from sonde.records.ranges import TimeRange
from sonde.records.step import EventCategory, Mode
from sonde.results.events import Events
from sonde.results.record_rows import RecordRows
from sonde.results.system import SystemMetrics
from sonde.results.tables import Frame
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy

_EARLIER_NS = 600 * NANOSECONDS  # what began so long before may still reach into it
_COLUMNS = ("name", "category", "lane", "start_ns", "duration_ns", "step", "mode")
_MOST_SPANS = 300
_MOST_LANES = 20
_UTILIZATION = "*.utilization_percent"


@dataclass(frozen=True, slots=True)
class EventTotal:
    """All events of one name of one worker, as far as they lie in a stretch of time."""

    worker: int
    category: str
    name: str
    count: int
    seconds: float
    mean: float
    p95: float
    percent: float  # of the stretch


@dataclass(frozen=True)
class _Part:
    """Events of one name of one worker, cut to the stretch."""

    worker: int
    category: str
    name: str
    starts_ns: Numbers
    ends_ns: Numbers


@dataclass(frozen=True)
class Selection(Frame):
    """What happened between two moments; events that reach beyond them are cut."""

    readers: tuple[WorkerReader, ...]
    systems: Callable[[], tuple[SystemReader, ...]]
    within: TimeRange
    start_ns: int  # when the job began

    @property
    def seconds(self) -> float:
        """How long it is."""
        return ((self.within.end_ns or 0) - (self.within.start_ns or 0)) / NANOSECONDS

    @property
    def events(self) -> Events:
        """The events that began in it, one by one."""
        return Events(self.readers, within=self.within)

    def system(self, metric: str = "*", device: str | None = None) -> SystemMetrics:
        """What the machines did in it; as for `job.system`."""
        return SystemMetrics(self.systems(), metric, device, self.within, self.start_ns)

    @cached_property
    def totals(self) -> tuple[EventTotal, ...]:
        """By worker, category and name, what took the most time first."""
        rows = [_total(part, self.seconds) for part in self._parts]
        return tuple(sorted(rows, key=lambda row: (row.worker, -row.seconds)))

    def to_arrow(self) -> pa.Table:
        """One row per worker and name of an event."""
        return RecordRows(self.totals, EventTotal).to_arrow()

    _units = dict.fromkeys(("mean", "p95"), "seconds")

    def __repr__(self) -> str:
        nothing = "nothing was recorded of training in it"
        rows = RecordRows(self.totals, EventTotal, nothing, ("mean", "p95"))
        return f"{self.seconds:g} s\n{rows}"

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        return tuple(part for reader in self.readers for part in self._of(reader))

    def _of(self, reader: WorkerReader) -> Iterator[_Part]:
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
            mine = is_in & (groups == group)
            yield _Part(
                reader.rank,
                kinds[group % max(1, len(kinds))],
                names[group // max(1, len(kinds))],
                np.maximum(starts_ns[mine], first_ns),
                np.minimum(ends_ns[mine], last_ns),
            )

    def _picture(self) -> Spec:
        """The utilization of the machines above the events of training."""
        first, last = self._since(self.within.start_ns or 0), self._since(self.within.end_ns or 0)
        lanes = tuple(self._lane(part) for part in self._parts[:_MOST_LANES])
        drawn: list[Spec] = []
        if self.system(_UTILIZATION).series:
            drawn.append(self.system(_UTILIZATION).plot().spec)
        drawn.append(Lanes(title="Training", lanes=lanes, start=first, end=last))
        return Group(title=f"{first:g} s to {last:g} s", parts=tuple(drawn))

    def _lane(self, part: _Part) -> Lane:
        longest = np.argsort(part.starts_ns - part.ends_ns, kind="stable")[:_MOST_SPANS]
        label = f"{part.worker} {part.name}" if len(self.readers) > 1 else part.name
        spans = [
            Span(
                start=self._since(int(part.starts_ns[place])),
                end=self._since(int(part.ends_ns[place])),
                label=part.name,
                tone=part.name if part.category == EventCategory.PHASE else Mode.TRAIN.value,
            )
            for place in np.sort(longest).tolist()
        ]
        return Lane(label=label, spans=tuple(spans))

    def _since(self, instant_ns: int) -> float:
        return (instant_ns - self.start_ns) / NANOSECONDS


def _total(part: _Part, whole: float) -> EventTotal:
    seconds = (part.ends_ns - part.starts_ns) / NANOSECONDS
    [[p95]] = percentiles(seconds[None, :], (95,))
    total = float(seconds.sum())
    return EventTotal(
        part.worker,
        part.category,
        part.name,
        len(seconds),
        total,
        float(seconds.mean()),
        float(p95),
        100 * total / whole if whole else 0.0,
    )
