"""Decode profiler traces (Kineto or any in Chrome's format) into operations.

A trace is read in chunks and converted to columns. Then nesting, self times, modules and times on
the job's clock are computed.

`detail` of an operation is JSON or empty: `shapes`, `pass` ("backward"), of device operations
`grid`, `block`, `occupancy_percent`, `bytes`, `gigabytes_per_second`, of collectives `collective`,
`elements_in`, `elements_out`, `dtype`, `group`, `group_size`, `group_label`, `ranks`. Events of
other writers than Kineto keep all their arguments.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray
from sonde.records.profile import DEVICE_CATEGORIES, OperationCategory
from sonde.traces.columns import TraceColumns, nanoseconds
from sonde.traces.event_kinds import OWN_CATEGORIES, detail_text
from sonde.traces.modules import find_modules
from sonde.traces.nesting import nest
from sonde.traces.stream import BLOCK_BYTES, TraceStream

ANCHOR = "sonde.anchor."
BATCH_ROWS = 1 << 16

_EARLIEST_NS = 10**17  # March 1973: earlier times have another epoch
_STEP_ANNOTATION = "ProfilerStep#"
_COLLECTIVE = ("record_param_comms", "gloo:", "nccl:", "c10d::")
_CATEGORIES = tuple(OperationCategory)
_DEVICE = [_CATEGORIES.index(name) for name in DEVICE_CATEGORIES]

Anchors = Sequence[tuple[str, int]]
Texts = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """Operations in order of time, as columns for `Writer.add_columns`."""

    columns: tuple[Sequence[Any], ...]
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class Trace:
    """A decoded trace: operations in order of time, texts as indices."""

    names: list[str]
    name: Texts
    category: npt.NDArray[np.int8]  # index in OperationCategory
    lanes: list[str]
    devices: list[str]  # of each lane
    lane: Texts
    start_ns: IntArray
    duration_ns: IntArray
    self_ns: IntArray
    correlation: IntArray
    sequence: IntArray  # autograd sequence number, else -1
    modules: list[str]
    module: Texts
    details: list[str]
    detail: Texts
    metadata: dict[str, Any]  # of the document, without events
    process_names: dict[int | str, str]
    is_absolute: bool  # whether its times have a date
    is_truncated: bool  # whether it is truncated
    left_out: int  # unreadable events
    other_events: Counter[str]  # events without a duration, by kind

    def __len__(self) -> int:
        return len(self.start_ns)

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """All operations in batches, as columns of the family OPERATIONS."""
        categories = [category.value for category in _CATEGORIES]
        for first in range(0, len(self), rows):
            batch = slice(first, first + rows)
            lane = self.lane[batch]
            yield Batch(
                (
                    _texts(self.names, self.name[batch]),
                    _texts(categories, self.category[batch]),
                    _texts(self.lanes, lane),
                    _texts(self.devices, lane),
                    _integers(self.start_ns[batch]),
                    _integers(self.duration_ns[batch]),
                    _integers(self.self_ns[batch]),
                    _integers(self.correlation[batch]),
                    _texts(self.modules, self.module[batch]),
                    _texts(self.details, self.detail[batch]),
                ),
                int(self.start_ns[batch][0]),
                int(self.start_ns[batch][-1]),
            )


def decode_trace(
    source: bytes | Path | BinaryIO,
    anchors: Anchors = (),
    start_ns: int | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Trace:
    """Decode a trace.

    Args:
        source: The trace or its path, optionally gzipped.
        anchors: Annotations with known times on the job's clock; they are not returned.
        start_ns: The start time, for a trace without a date.
        block_bytes: The number of bytes to read at a time.

    Raises:
        DamagedError: It is not a trace.
    """
    stream = TraceStream(source, block_bytes)
    columns = TraceColumns()
    for events, listed in stream.chunks():
        columns.add(events, listed)
        del events, listed  # before the next are read
    return _Assembly(stream, columns).trace(anchors, start_ns)


class _Assembly:
    """Builds a `Trace` from columns."""

    def __init__(self, stream: TraceStream, columns: TraceColumns) -> None:
        self._stream = stream
        self._columns = columns
        self._kinds = columns.kinds
        self._kind = columns.column("kind")
        self._names = [str(name) for name in self._kinds.names]
        self._name = self._of_kind("name")
        self._start = nanoseconds(columns.column("start")) + _base_ns(stream.metadata)
        self._duration = np.maximum(nanoseconds(columns.column("duration")), 0)
        self._thread = self._of_kind("thread")
        self._category = self._categories()

    def trace(self, anchors: Anchors, start_ns: int | None) -> Trace:
        """The operations in order of time, on the job's clock."""
        columns = self._columns
        parents, self_ns = nest(self._thread, self._start, self._duration)
        correlation, sequence = columns.column("correlation"), columns.column("sequence")
        modules, module = self._modules(parents, correlation, sequence)
        lanes, devices, lane = self._lanes()
        begin, is_absolute = self._on_clock(anchors, start_ns)
        keep = np.flatnonzero(~self._is_named(ANCHOR))
        order = keep[np.argsort(begin[keep], kind="stable")]
        # one by one, to avoid two copies of all columns
        begin, self_ns = begin[order], self_ns[order]
        correlation, sequence = correlation[order], sequence[order]
        lane, module = lane[order], module[order]
        self._name, self._category = self._name[order], self._category[order]
        self._duration, self._start = self._duration[order], begin
        return Trace(
            names=self._names,
            name=self._name,
            category=self._category,
            lanes=lanes,
            devices=devices,
            lane=lane,
            start_ns=begin,
            duration_ns=self._duration,
            self_ns=self_ns,
            correlation=correlation,
            sequence=sequence,
            modules=modules,
            module=module,
            details=[detail_text(key) for key in self._kinds.details],
            detail=columns.column("detail")[order],
            metadata=self._stream.metadata,
            process_names=columns.process_names,
            is_absolute=is_absolute,
            is_truncated=self._stream.is_truncated,
            left_out=self._stream.left_out,
            other_events=columns.other_events,
        )

    def _modules(
        self, parents: IntArray, correlation: IntArray, sequence: IntArray
    ) -> tuple[list[str], Texts]:
        """The names of modules, and the module index of each operation."""
        return find_modules(
            self._names,
            self._name,
            parents,
            (self._start, sequence, self._of_kind("forward_thread")),
            (correlation, np.isin(self._category, _DEVICE)),
        )

    def _is_named(self, *beginnings: str) -> npt.NDArray[np.bool_]:
        """Which operations have a name with one of these prefixes."""
        named = np.array([name.startswith(beginnings) for name in self._names], dtype=np.bool_)
        return named[self._name] if len(named) else np.zeros(0, dtype=np.bool_)

    def _of_kind(self, name: str) -> Texts:
        return self._kinds.column(name, self._kind)

    def _categories(self) -> npt.NDArray[np.int8]:
        numbers = [
            _CATEGORIES.index(OperationCategory(OWN_CATEGORIES.get(name.lower(), "other")))
            for name in self._kinds.categories
        ]
        categories = np.array(numbers or [0], dtype=np.int8)[self._of_kind("category")]
        categories[self._is_named(_STEP_ANNOTATION)] = _CATEGORIES.index(
            OperationCategory.ANNOTATION
        )
        is_host = ~np.isin(categories, _DEVICE)
        is_exchange = self._is_named(*_COLLECTIVE) & is_host
        categories[is_exchange] = _CATEGORIES.index(OperationCategory.COLLECTIVE)
        return categories

    def _lanes(self) -> tuple[list[str], list[str], Texts]:
        """The names and devices of lanes, and the lane of each operation."""
        is_device = np.isin(self._category, _DEVICE)
        device = self._of_kind("device")
        numbers = np.full(len(self._kinds.threads), -1, dtype=np.int64)
        numbers[self._thread[is_device]] = np.maximum(device[is_device], 0)
        hosts = {
            thread_key[0]
            for thread_key, number in zip(self._kinds.threads, numbers.tolist(), strict=True)
            if number < 0
        }
        lanes, devices = [], []
        for thread_key, number in zip(self._kinds.threads, numbers.tolist(), strict=True):
            is_host = number < 0
            lanes.append(
                self._host_lane(thread_key, len(hosts) > 1)
                if is_host
                else f"stream {thread_key[1]}"
            )
            devices.append("cpu" if is_host else f"cuda:{number}")
        return lanes, devices, self._thread

    def _host_lane(self, thread_key: tuple[int | str, int | str], is_one_of_many: bool) -> str:
        process, thread = thread_key
        name = self._columns.thread_names.get(thread_key, "")
        lane = name if name.startswith("thread ") else f"thread {thread}"
        if name and not name.startswith("thread ") and name != str(thread):
            lane = f"{lane} ({name})"
        if is_one_of_many:
            lane = f"{self._columns.process_names.get(process, '') or process}: {lane}"
        return lane

    def _on_clock(self, anchors: Anchors, start_ns: int | None) -> tuple[IntArray, bool]:
        """The start of each operation on the job's clock, and whether the trace has a date."""
        instants = self._anchor_instants(anchors)
        first_ns = int(self._start.min(initial=np.iinfo(np.int64).max))
        if instants:
            (trace_ns, job_ns), (trace_last_ns, job_last_ns) = instants[0], instants[-1]
            rate = (
                (job_last_ns - job_ns) / (trace_last_ns - trace_ns)
                if trace_last_ns > trace_ns
                else 1.0
            )
            since = self._start - trace_ns
            return job_ns + since + np.rint(since * (rate - 1.0)).astype(np.int64), True
        is_absolute = first_ns >= _EARLIEST_NS
        if is_absolute or start_ns is None or not len(self._start):
            return self._start, is_absolute
        return self._start - first_ns + start_ns, False

    def _anchor_instants(self, anchors: Anchors) -> list[tuple[int, int]]:
        """The time of each anchor on the trace's clock and on the job's clock, in order."""
        middle = self._start + self._duration // 2
        instants = []
        for name, job_ns in anchors:
            if name in self._kinds.names:
                rows = np.flatnonzero(self._name == self._kinds.names[name])
                instants += [(int(middle[row]), int(job_ns)) for row in rows[:1].tolist()]
        return sorted(instants)


def _base_ns(metadata: dict[str, Any]) -> int:
    """The epoch of a trace's timestamps."""
    base = metadata.get("baseTimeNanoseconds", 0)
    return int(base) if isinstance(base, int | float | str) and str(base).isdecimal() else 0


def _texts(distinct: Sequence[str], numbers: npt.NDArray[Any]) -> list[str]:
    return [distinct[number] for number in numbers.tolist()]


def _integers(values: IntArray) -> "array[int]":
    return array("q", values.tobytes())
