"""Events in Chrome's trace format: spans, instants and counters.

Only handles the format; importers interpret the names.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sonde.errors import DamagedError
from sonde.formats import format_count, pluralize
from sonde.importers._importer import Intake
from sonde.importers._rows import Columns
from sonde.importers._sources import Source
from sonde.importers._steps import Operations
from sonde.records.profile import NO_CORRELATION, OperationCategory
from sonde.traces.nesting import nest
from sonde.traces.stream import TraceStream

Key = tuple[str, str]  # process and thread, as the trace numbers them
Event = Mapping[str, Any]

_NANOSECONDS = 1000  # per microsecond, the unit of the format
_START = "start_time_since_epoch_in_micros"
_NEVER = 4e15  # microseconds: the year 2096; sums of two fit in 64 bits
_KINDS = {
    "s": "flow arrows",
    "t": "flow arrows",
    "f": "flow arrows",
    "i": "instants",
    "I": "instants",
    "C": "counters",
    "N": "objects",
    "O": "objects",
    "D": "objects",
    "P": "samples",
}


_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class TraceLocation:
    """The lane and device of a span."""

    lane: str
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Track:
    """A thread of a trace with its names, which may be empty."""

    process: str
    labels: str  # of the process
    thread: str
    pid: str
    tid: str


@dataclass(frozen=True, slots=True)
class Span:
    """A named interval of a trace; instants have a duration of zero."""

    name: str
    category: str
    key: Key
    start_ns: int
    duration_ns: int
    detail: str  # arguments as compact JSON, or empty
    correlation: int
    sequence: int

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the event, parsed on demand to save memory."""
        arguments: dict[str, Any] = json.loads(self.detail) if self.detail else {}
        return arguments

    def with_arguments(self, arguments: Mapping[str, Any]) -> "Span":
        """A copy with other arguments."""
        return replace(self, detail=_compact(arguments))


class ChromeTrace:
    """The content of a trace, by kind of event."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.counters: list[tuple[str, int, float]] = []  # name, time, value
        self.left_out: Counter[str] = Counter()
        self.metadata: Mapping[str, Any] = {}
        self._start_ns = 0  # in a metadata event of smdebug and Horovod
        self._keys: dict[Key, Key] = {}  # interned
        self._names: dict[tuple[str, str, str], str] = {}
        self._open: dict[object, list[Event]] = {}
        self._handlers: dict[str, Callable[[Event], None]] = {
            "X": self._complete,
            "C": self._count,
            **dict.fromkeys("iIRn", self._instant),
            **dict.fromkeys("BbS", self._begin),
            **dict.fromkeys("EeF", self._end),
        }

    def take(self, event: Event) -> None:
        """Add one event."""
        kind = str(event.get("ph", ""))
        if kind == "M":
            self._name(event)
        elif kind in self._handlers and not abs(_number(event.get("ts"))) < _NEVER:
            self.left_out["events without a time"] += 1
        elif kind in self._handlers:
            self._handlers[kind](event)
        elif event:  # some writers end their list with an empty event
            self.left_out[kind_of(kind)] += 1

    def finish(self) -> None:
        """Count events without an end, and sort the spans."""
        self.left_out["begin events without an end"] += sum(map(len, self._open.values()))
        self.spans.sort(key=lambda span: (span.start_ns, -span.duration_ns))
        self.left_out = +self.left_out

    @property
    def extent(self) -> tuple[int, int]:
        """The time range on the trace's clock; see `base_ns`."""
        instants = [each[1] for each in self.counters] + [each.start_ns for each in self.spans]
        ends = [each.start_ns + each.duration_ns for each in self.spans]
        return min(instants), max(instants + ends)

    @property
    def _base_ns(self) -> int:
        """The epoch of its timestamps, if the trace defines one."""
        text = str(self.metadata.get("baseTimeNanoseconds"))
        is_valid = text.isdecimal() and int(text) < _NEVER * _NANOSECONDS
        return int(text) if is_valid else self._start_ns

    def shift_ns(self, intake: Intake, path: Path) -> int:
        """The offset to add to its timestamps."""
        base_ns = self._base_ns
        first_ns, last_ns = (moment + base_ns for moment in self.extent)
        return base_ns + intake.shift_ns(path, first_ns, last_ns)

    def counters_at(self, shift_ns: int) -> list[tuple[str, int, float]]:
        """The counters with shifted timestamps."""
        return [(name, time_ns + shift_ns, value) for name, time_ns, value in self.counters]

    def track(self, key: Key) -> Track:
        """The names of a thread."""
        process, labels = (
            self._names.get((kind, key[0], ""), "") for kind in ("process_name", "process_labels")
        )
        thread = self._names.get(("thread_name", *key), "")
        return Track(process, labels, thread, *key)

    @property
    def keys(self) -> set[Key]:
        """All threads with spans."""
        return {span.key for span in self.spans}

    def _name(self, event: Event) -> None:
        kind, (pid, tid) = str(event.get("name")), _key(event)
        arguments = _mapping(event.get("args"))
        label = arguments.get("name", arguments.get("labels"))
        start_us = _number(arguments.get(_START))
        if 0 < start_us < _NEVER:
            self._start_ns = round(start_us) * _NANOSECONDS
        if label is not None:
            self._names[kind, pid, tid if kind == "thread_name" else ""] = str(label).strip()

    def _span(self, event: Event, duration: float) -> None:
        if not 0 <= duration < _NEVER:
            self.left_out["events without a duration"] += 1
            return
        arguments, key = _mapping(event.get("args")), _key(event)
        self.spans.append(
            Span(
                name=sys.intern(str(event.get("name", ""))),
                category=sys.intern(str(event.get("cat", ""))),
                key=self._keys.setdefault(key, key),
                start_ns=round(_number(event["ts"]) * _NANOSECONDS),
                duration_ns=round(duration * _NANOSECONDS),
                detail=sys.intern(_compact(arguments)),
                correlation=_integer(arguments, "correlation", "correlation_id"),
                sequence=_integer(arguments, "Sequence number"),
            )
        )

    def _complete(self, event: Event) -> None:
        self._span(event, _number(event.get("dur", 0)))

    def _instant(self, event: Event) -> None:
        self._span(event, 0.0)

    def _begin(self, event: Event) -> None:
        self._open.setdefault(_identity(event), []).append(event)

    def _end(self, event: Event) -> None:
        open_events = self._open.get(_identity(event))
        if not open_events:
            self.left_out["end events without a beginning"] += 1
            return
        opening = open_events.pop()
        arguments = {**_mapping(opening.get("args")), **_mapping(event.get("args"))}
        duration = _number(event["ts"]) - _number(opening["ts"])
        self._span({"name": event.get("name", ""), **opening, "args": arguments}, duration)

    def _count(self, event: Event) -> None:
        name, moment = str(event.get("name", "")), round(_number(event["ts"]) * _NANOSECONDS)
        for key, value in _mapping(event.get("args")).items():
            number = _number(value)
            if math.isnan(number):
                self.left_out["counters without a number"] += 1
            else:
                self.counters.append((f"{name}/{key}", moment, number))


def kind_of(letter: str) -> str:
    """A description of a kind of event."""
    return _KINDS.get(letter, f"events of kind {letter!r}")


def read_chrome_trace(source: Source, intake: Intake) -> ChromeTrace:
    """Read a complete file.

    Raises:
        DamagedError: It is not a trace, or none of its events can be read.
    """
    trace = ChromeTrace()
    with intake.open(source) as file:
        stream = TraceStream(file)
        for events in _chunks(stream, source):
            for event in events:
                if isinstance(event, dict):
                    trace.take(event)
    trace.finish()
    trace.metadata = stream.metadata
    if stream.is_truncated:
        offset = f"{format_count(stream.bytes_read)} bytes of JSON"
        intake.remarks.append(f"{source.path} is truncated after {offset}")
    trace.left_out["unreadable events"] += stream.left_out
    intake.left_out.update(+trace.left_out)
    if not trace.spans and not trace.counters:
        read = pluralize(stream.bytes_read, "byte")
        raise DamagedError(f"{source.path} has no events with a duration ({read} read).")
    return trace


def _chunks(stream: TraceStream, source: Source) -> Iterator[list[Any]]:
    try:
        for _, listed in stream.chunks():
            yield json.loads(listed, strict=False)
    except (DamagedError, ValueError) as error:
        position = f"near byte {format_count(stream.bytes_read)}"
        raise DamagedError(f"Cannot read {source.path} {position}: {error}") from error


def operations_of(
    trace: ChromeTrace,
    shift_ns: int,
    location_of: Callable[[Track], TraceLocation],
    category_of: Callable[[Span, TraceLocation], OperationCategory],
) -> tuple[Columns, Operations]:
    """The columns of OPERATIONS, and the operations used for finding steps."""
    spans = trace.spans
    by_key = {key: location_of(trace.track(key)) for key in trace.keys}
    locations = [by_key[span.key] for span in spans]
    numbers = {location: number for number, location in enumerate(dict.fromkeys(locations))}
    on_lane = np.array([numbers[location] for location in locations], dtype=np.int32)
    operations = Operations(
        names=[span.name for span in spans],
        lanes=[location.lane for location in locations],
        devices=[location.device for location in locations],
        starts_ns=np.array([span.start_ns for span in spans], dtype=np.int64) + shift_ns,
        durations_ns=np.array([span.duration_ns for span in spans], dtype=np.int64),
        sequences=np.array([span.sequence for span in spans], dtype=np.int64),
    )
    _, own_ns = nest(on_lane, operations.starts_ns, operations.durations_ns)
    columns: Columns = [
        operations.names,
        [
            category_of(span, location).value
            for span, location in zip(spans, locations, strict=True)
        ],
        operations.lanes,
        operations.devices,
        operations.starts_ns.tolist(),
        operations.durations_ns.tolist(),
        own_ns.tolist(),
        [span.correlation for span in spans],
        [""] * len(spans),
        [span.detail for span in spans],
    ]
    return columns, operations


def _integer(arguments: Mapping[str, Any], *names: str) -> int:
    """The first of several arguments that is a number, else -1."""
    numbers = (_number(arguments[name]) for name in names if name in arguments)
    return next((int(number) for number in numbers if abs(number) < _NEVER), NO_CORRELATION)


def _compact(arguments: Mapping[str, Any]) -> str:
    return _COMPACT.encode(arguments) if arguments else ""


def _key(event: Event) -> Key:
    return str(event.get("pid", "")), str(event.get("tid", ""))


def _identity(event: Event) -> object:
    """The key that pairs a begin event with its end event."""
    if event["ph"] in "BE":
        return _key(event)
    number = event.get("id", event.get("id2"))
    return str(event.get("cat")), str(number), str(event.get("name")), str(event.get("scope"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan
