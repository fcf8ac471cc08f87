"""Chrome trace format, for Perfetto and chrome://tracing.

A process per worker with a thread per track, and one per machine with its metrics as counters.
Times are microseconds since the first event; `otherData` has its date and time.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from sonde import __version__
from sonde.analyze.tracks import row_of_slices
from sonde.clock import iso
from sonde.read.timeline import NodeCounters, Timeline, WorkerSlices
from sonde.records.arrays import IntArray
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory
from sonde.records.step import NO_STEP, EventCategory
from sonde.store.tables import texts_of, to_numpy

Advance = Callable[[int], None]

_BATCH = 1 << 14
_ON_DEVICE = tuple(category.value for category in DEVICE_CATEGORIES)
# tracks in this order, by the beginning of their names; others follow, before the last
_ORDER = ("steps", "phases", "device phases", "collectives", "loader", "python", "thread")
_LAST = "profile windows"
_STEP = EventCategory.STEP.value
_SHOWN = ('{"ph":"X"', '{"ph":"C"')  # other lines are metadata and arrows


def write_trace(timeline: Timeline, sink: BinaryIO, advance: Advance) -> None:
    """Write a timeline as a JSON document."""
    base_ns = _first_ns(timeline)
    head = {"displayTimeUnit": "ms", "otherData": _other_data(timeline, base_ns)}
    sink.write(json.dumps(head, separators=(",", ":"))[:-1].encode() + b',"traceEvents":[\n')
    separator = b""
    for lines in _batches(_Trace(timeline, base_ns).events()):
        sink.write(separator + ",\n".join(lines).encode())
        separator = b",\n"
        advance(sum(line.startswith(_SHOWN) for line in lines))
    sink.write(b"\n]}\n")


def _first_ns(timeline: Timeline) -> int:
    starts = [to_numpy(worker.table["start_ns"]) for worker in timeline.workers]
    starts += [node.times_ns for node in timeline.nodes]
    return min((int(start.min()) for start in starts if len(start)), default=0)


def _other_data(timeline: Timeline, base_ns: int) -> dict[str, str]:
    facts = {name: str(value) for name, value in timeline.facts.items()}
    return {"job": timeline.job, "start": iso(base_ns), "sonde": __version__, **facts}


def _batches(lines: Iterator[str]) -> Iterator[list[str]]:
    batch = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class _Trace:
    """Assigns process and thread IDs, and turns rows into events."""

    def __init__(self, timeline: Timeline, base_ns: int) -> None:
        self._timeline = timeline
        self._base_ns = base_ns
        self._nodes = list(
            dict.fromkeys(
                [
                    *(node.node for node in timeline.nodes),
                    *(worker.node for worker in timeline.workers),
                ]
            )
        )
        processes = len(self._nodes) + len(timeline.workers)
        self._threads = count(
            processes + 1
        )  # IDs of threads differ from each other and from those of processes
        self._flows = count(1)

    def events(self) -> Iterator[str]:
        """Every event, as JSON."""
        for pid, counters in enumerate(self._timeline.nodes, 1):
            if not np.isfinite(counters.values).any():
                continue
            yield from self._names(pid, f"{counters.node}: machine", counters.node, 0)
            yield from self._counters(pid, counters)
        for pid, slices in enumerate(self._timeline.workers, len(self._nodes) + 1):
            title = f"worker {slices.worker} ({slices.node})"
            yield from self._names(pid, title, slices.node, slices.worker + 1)
            yield from self._slices(pid, slices)

    def _names(self, pid: int, title: str, node: str, index: int) -> Iterator[str]:
        order = self._nodes.index(node) * 1_000_000 + index
        yield _metadata("process_name", pid, {"name": title})
        yield _metadata("process_sort_index", pid, {"sort_index": order})

    def _counters(self, pid: int, counters: NodeCounters) -> Iterator[str]:
        times = [_microseconds(time_ns) for time_ns in (counters.times_ns - self._base_ns).tolist()]
        for series, row in zip(counters.series, counters.values, strict=True):
            name, unit = json.dumps(series.key), json.dumps(series.metric.unit or "value")
            finite = np.flatnonzero(np.isfinite(row)).tolist()
            values = row.tolist()
            for index in finite:
                yield (
                    f'{{"ph":"C","name":{name},"pid":{pid},"ts":{times[index]},'
                    f'"args":{{{unit}:{values[index]:.7g}}}}}'
                )

    def _slices(self, pid: int, slices: WorkerSlices) -> Iterator[str]:
        table = slices.table
        starts_ns = to_numpy(table["start_ns"]) - self._base_ns
        durations_ns = to_numpy(table["duration_ns"])
        tids = np.zeros(len(starts_ns), dtype=np.int64)
        for title, rows in _rows_of_tracks(table):
            tid = next(self._threads)
            tids[rows] = tid
            yield _metadata("thread_name", pid, {"name": title}, tid)
            yield _metadata("thread_sort_index", pid, {"sort_index": tid}, tid)
        numbers = (each.tolist() for each in (tids, starts_ns, durations_ns))
        slice_rows = zip(_heads(table), _arguments(table), *numbers, strict=True)
        for head, arguments, tid, start, duration in slice_rows:
            yield (
                f'{{"ph":"X",{head},"pid":{pid},"tid":{tid},"ts":{_microseconds(start)},'
                f'"dur":{_microseconds(duration)},"args":{{{arguments}}}}}'
            )
        yield from self._links(pid, table, tids)

    def _links(self, pid: int, table: pa.Table, tids: IntArray) -> Iterator[str]:
        """An arrow from each driver call to the device operation it started."""
        categories, category_numbers = texts_of(table["category"])
        starts_ns = (to_numpy(table["start_ns"]) - self._base_ns).tolist()
        durations_ns = to_numpy(table["duration_ns"]).tolist()
        correlations = to_numpy(table["correlation"]).tolist()
        calls: dict[int, int] = {}
        started: list[int] = []
        for row, number in enumerate(category_numbers.tolist()):
            if correlations[row] == NO_CORRELATION or not durations_ns[row]:
                continue
            if categories[number] == OperationCategory.RUNTIME.value:
                calls[correlations[row]] = row
            elif categories[number] in _ON_DEVICE:
                started.append(row)
        for row in started:
            call = calls.get(correlations[row])
            if call is not None and starts_ns[call] <= starts_ns[row]:
                head = f'"id":{next(self._flows)},"cat":"launch","name":"launch","pid":{pid}'
                for mark, end in (('"s"', call), ('"f","bp":"e"', row)):
                    ts = _microseconds(starts_ns[end])
                    yield f'{{"ph":{mark},{head},"tid":{int(tids[end])},"ts":{ts}}}'


def _rows_of_tracks(table: pa.Table) -> Iterator[tuple[str, IntArray]]:
    """Titles and rows of tracks; slices that overlap without nesting get separate tracks."""
    titles, tracks = texts_of(table["track"])
    starts_ns = to_numpy(table["start_ns"])
    ends_ns = starts_ns + to_numpy(table["duration_ns"])
    for number in sorted(set(tracks.tolist()), key=lambda track: track_order(titles[track])):
        indices = np.flatnonzero(tracks == number)
        levels = row_of_slices(starts_ns[indices], ends_ns[indices])
        for index in range(int(levels.max()) + 1):
            title = titles[number] if not index else f"{titles[number]} ({index + 1})"
            yield title, indices[levels == index]


def _microseconds(nanoseconds: int) -> str:
    """Microseconds, slightly increased because Perfetto truncates to nanoseconds.

    It would read 9.619 as 9.618; adjacent slices would overlap and be dropped.
    """
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}2"


def _metadata(name: str, pid: int, arguments: dict[str, object], tid: int | None = None) -> str:
    event = {"ph": "M", "name": name, "pid": pid, "args": arguments}
    return json.dumps(event if tid is None else {**event, "tid": tid}, separators=(",", ":"))


def track_order(title: str) -> tuple[int, str]:
    """Sort key of tracks: training first, then devices and threads, profile windows last."""
    if title == _LAST:
        return len(_ORDER) + 1, title
    positions = (index for index, first in enumerate(_ORDER) if title.startswith(first))
    return next(positions, len(_ORDER)), title


def _heads(table: pa.Table) -> Iterator[str]:
    names, name_numbers = texts_of(table["name"])
    categories, kinds = texts_of(table["category"])
    name_texts = [json.dumps(name or "?") for name in names]
    category_texts = [json.dumps(category) for category in categories]
    steps = to_numpy(table["step"]).tolist()
    for name, kind, step in zip(name_numbers.tolist(), kinds.tolist(), steps, strict=True):
        title = json.dumps(f"step {step}") if categories[kind] == _STEP else name_texts[name]
        yield f'"name":{title},"cat":{category_texts[kind]}'


def _arguments(table: pa.Table) -> Iterator[str]:
    modules, module_numbers = texts_of(table["module"])
    details, detail_numbers = texts_of(table["detail"])
    of_module = [f'"module":{json.dumps(module)}' if module else "" for module in modules]
    of_detail = [_detail(detail) for detail in details]
    steps = to_numpy(table["step"]).tolist()
    for module, detail, step in zip(
        module_numbers.tolist(), detail_numbers.tolist(), steps, strict=True
    ):
        of_step = f'"step":{step}' if step != NO_STEP else ""
        yield ",".join(filter(None, (of_step, of_module[module], of_detail[detail])))


def _detail(text: str) -> str:
    """Details of a slice as JSON members; text that is not a JSON object becomes one member."""
    if not text:
        return ""
    try:
        content = json.loads(text)
    except ValueError:
        content = text
    if not isinstance(content, dict):
        content = {"detail": content}
    for key in ("step", "module"):
        content.pop(key, None)
    return json.dumps(content, separators=(",", ":"))[1:-1]
