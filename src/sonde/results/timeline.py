"""The timeline of a job: slices of its workers and metrics of its machines on one clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.atomic_file import write_atomically
from sonde.clock import NANOSECONDS, iso
from sonde.errors import UsageError
from sonde.formats import pluralize
from sonde.read.collectives import node_of, read_collectives
from sonde.read.profiles import time_of_steps
from sonde.read.system import SystemReader
from sonde.read.timeline import Sources, WorkerSlices
from sonde.read.timeline import Timeline as TimelineData
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.chart import Spec
from sonde.records.metric import Series
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.results.chrome_trace import write_trace
from sonde.results.clocks import Clocks, estimate_clocks
from sonde.results.tables import TIME, Frame, aligned
from sonde.results.timeline_lanes import timeline_lanes
from sonde.results.times import Moment
from sonde.store.rollups import Rollup
from sonde.store.tables import from_numpy, repeated, texts_of, to_numpy

_NEARBY_NS = 600 * NANOSECONDS  # steps used to estimate clock offsets
_MAX_SLICES = 5000
_BUCKETS = 500


@dataclass(frozen=True)
class Timeline(Frame):
    """Workers and nodes over a range of time or steps; read on first use.

    Steps, phases, operators, kernels, collectives, Python and loaders are slices; metrics of the
    machines are counters. Clocks of several nodes are aligned; `clocks` has the errors.
    """

    job: str
    readers: tuple[WorkerReader, ...]
    systems: tuple[SystemReader, ...]
    instant: Callable[[Moment], int | None]
    requested: TimeRange = EVER
    steps: StepRange = ANY_STEP
    metrics: tuple[str, ...] = ("*",)
    all_workers: tuple[WorkerReader, ...] = ()  # workers used to estimate clock offsets

    def on(self, node: str) -> "Timeline":
        """The timeline of a single node."""
        systems = tuple(system for system in self.systems if system.node == node)
        readers = tuple(reader for reader in self.readers if node_of(reader) == node)
        if not systems and not readers:
            names = ", ".join(system.node for system in self.systems)
            raise UsageError(f"Job {self.job!r} has no node {node!r}. Available: {names}")
        return replace(self, systems=systems, readers=readers)

    @cached_property
    def clocks(self) -> Clocks:
        """Clock offsets between nodes, with their errors."""
        nodes = {node_of(reader) for reader in self.all_workers}
        calls_by_worker = (
            [read_collectives(reader) for reader in self.all_workers] if len(nodes) > 1 else []
        )
        start_ns, end_ns = self._own_range.start_ns, self._own_range.end_ns
        search_range = TimeRange(
            None if start_ns is None else start_ns - _NEARBY_NS,
            None if end_ns is None else end_ns + _NEARBY_NS,
        )
        return estimate_clocks(self.all_workers, calls_by_worker, search_range)

    @cached_property
    def within(self) -> TimeRange:
        """The time range, on the corrected clock."""
        if self.steps == ANY_STEP:
            return self.requested
        offsets = self.clocks.offsets_ns
        spans = [
            (span.start_ns - offsets.get(node, 0), span.end_ns - offsets.get(node, 0))
            for node, span in self._spans
            if span.start_ns is not None and span.end_ns is not None
        ]
        return TimeRange(min(start for start, _ in spans), max(end for _, end in spans))

    @cached_property
    def data(self) -> TimelineData:
        """The complete timeline, as read."""
        facts: dict[str, object] = {
            f"clock of {node.node}": "reference"
            if node.source == "reference"
            else f"corrected by {-node.offset_ns} ns, error {node.error_ns} ns, from {node.source}"
            for node in self.clocks.nodes
        }
        slices, counters = self._sources.slices(self.within), self._sources.counters(self.within)
        return TimelineData(self.job, slices, counters, facts)

    def window(
        self, start: Moment = None, end: Moment = None, max_slices: int = _MAX_SLICES
    ) -> "TimelineWindow":
        """A time range as arrays, small enough to be drawn.

        Args:
            start: A time, as for `job.system`; the start of the timeline by default.
            end: Likewise; not included.
            max_slices: Limit per track; the longest slices are kept.
        """
        first_ns, last_ns = self.instant(start), self.instant(end)
        within = TimeRange(
            self.within.start_ns if first_ns is None else first_ns,
            self.within.end_ns if last_ns is None else last_ns,
        )
        tracks = tuple(
            track for slice in self._sources.slices(within) for track in _tracks(slice, max_slices)
        )
        return TimelineWindow(within, tracks, tuple(self._counters(within)))

    def save(self, path: str | Path) -> Path:
        """Write a trace for Perfetto or chrome://tracing; with suffix .gz it is compressed."""
        target = Path(path)
        write_atomically(target, lambda sink: write_trace(self.data, sink, lambda _count: None))
        return target

    def to_arrow(self) -> pa.Table:
        """One row per slice."""
        return pa.concat_tables([_frame(worker) for worker in self.data.workers] or [pa.table({})])

    def __repr__(self) -> str:
        counts = {
            f"worker {worker.worker} ({worker.node})": len(texts_of(worker.table["track"])[0])
            for worker in self.data.workers
        }
        rows = [
            (title, str(worker.table.num_rows), str(counts[title]))
            for title, worker in zip(counts, self.data.workers, strict=True)
        ]
        rows += [
            (f"{node.node}: machine", str(node.values.size), str(len(node.series)))
            for node in self.data.nodes
        ]
        text = aligned([("", "slices or samples", "tracks"), *rows], left_columns=1)
        return f"{text}\n{self.clocks}" if len(self.clocks.nodes) > 1 else text

    @cached_property
    def _spans(self) -> tuple[tuple[str, TimeRange], ...]:
        """Node and time range of the steps of each worker, by the clock of its node."""
        spans = [(node_of(reader), time_of_steps(reader, self.steps)) for reader in self.readers]
        recorded = tuple((node, span) for node, span in spans if span is not None)
        if not recorded:
            raise UsageError(f"Job {self.job!r} has not recorded these steps.")
        return recorded

    @property
    def _own_range(self) -> TimeRange:
        """The time range on the uncorrected clock."""
        if self.steps == ANY_STEP:
            return self.requested
        starts = [span.start_ns for _, span in self._spans if span.start_ns is not None]
        ends = [span.end_ns for _, span in self._spans if span.end_ns is not None]
        return TimeRange(min(starts), max(ends))

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.readers, self.systems, self.clocks.offsets_ns, self.metrics)

    def _counters(self, within: TimeRange) -> "list[CounterTrack]":
        tracks = []
        for reader in self.systems:
            offset_ns = self.clocks.offsets_ns.get(reader.node, 0)
            start_ns, end_ns = within.start_ns, within.end_ns
            local_range = TimeRange(
                None if start_ns is None else start_ns + offset_ns,
                None if end_ns is None else end_ns + offset_ns,
            )
            series = self._sources.series_of(reader)
            rollup = reader.buckets(series, _BUCKETS, local_range)
            corrected = replace(rollup, starts_ns=rollup.starts_ns - offset_ns)
            tracks.append(CounterTrack(reader.node, series, corrected))
        return tracks

    def _chart_spec(self) -> Spec:
        return timeline_lanes(self.window())


@dataclass(frozen=True)
class SliceTrack:
    """A track of a worker, as arrays."""

    node: str
    worker: int
    title: str
    names: tuple[str, ...]  # distinct
    name_numbers: npt.NDArray[np.int32]
    starts_ns: IntArray
    durations_ns: IntArray
    steps: IntArray
    left_out: int = 0  # number of shorter slices


@dataclass(frozen=True)
class CounterTrack:
    """The metrics of a node in time buckets."""

    node: str
    series: tuple[Series, ...]
    buckets: Rollup


@dataclass(frozen=True)
class TimelineWindow:
    """A time range of a timeline that can be drawn."""

    within: TimeRange
    slices: tuple[SliceTrack, ...]
    counters: tuple[CounterTrack, ...]

    def __repr__(self) -> str:
        shown = sum(len(slice.starts_ns) for slice in self.slices)
        left_out = sum(slice.left_out for slice in self.slices)
        start_ns, end_ns = self.within.start_ns, self.within.end_ns
        times = " to ".join("…" if each is None else iso(each) for each in (start_ns, end_ns))
        counts = f"{pluralize(shown, 'slice')} in {pluralize(len(self.slices), 'track')}"
        return f"{counts}, {left_out} not shown; {times}"


def _tracks(slices: WorkerSlices, max_slices: int) -> list[SliceTrack]:
    table = slices.table
    titles, tracks = texts_of(table["track"])
    names, numbers = texts_of(table["name"])
    starts_ns, durations_ns = to_numpy(table["start_ns"]), to_numpy(table["duration_ns"])
    steps = to_numpy(table["step"])
    slice_tracks = []
    for number in sorted(set(tracks.tolist())):
        track_rows = np.flatnonzero(tracks == number)
        longest = np.argsort(-durations_ns[track_rows], kind="stable")[:max_slices]
        shown = track_rows[np.sort(longest)]
        distinct, name_indices = np.unique(numbers[shown], return_inverse=True)
        slice_tracks.append(
            SliceTrack(
                slices.node,
                slices.worker,
                titles[number],
                tuple(names[each] for each in distinct.tolist()),
                name_indices.astype(np.int32),
                starts_ns[shown],
                durations_ns[shown],
                steps[shown],
                len(track_rows) - len(shown),
            )
        )
    return slice_tracks


def _frame(slices: WorkerSlices) -> pa.Table:
    table = slices.table
    rows = table.num_rows
    texts: dict[str, Any] = {
        name: table[name].cast(pa.string())
        for name in ("track", "category", "name", "device", "module", "detail")
    }
    return pa.table(
        {
            "worker": from_numpy(np.full(rows, slices.worker, dtype=np.int64)),
            "node": repeated(slices.node, rows),
            "track": texts["track"],
            "category": texts["category"],
            "name": texts["name"],
            "time": table["start_ns"].cast(TIME),
            "seconds": from_numpy(to_numpy(table["duration_ns"]) / NANOSECONDS),
            "step": table["step"],
            "device": texts["device"],
            "module": texts["module"],
            "detail": texts["detail"],
        }
    )
