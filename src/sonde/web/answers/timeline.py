"""The timeline of workers and machines: windows, totals, search and single slices.

Times are seconds since the start of the job: Unix seconds as floats lose microseconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.analyze.tick_gaps import fill_between
from sonde.analyze.tracks import Pixels
from sonde.bounded_cache import BoundedCache
from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.read.system import SystemReader
from sonde.read.timeline import STEPS, WINDOWS, Sources
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.results.clocks import Clocks
from sonde.results.timeline import Timeline as TimelineResult
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply, json_reply
from sonde.web.trace import TraceCache, Track, WorkerTrace

_MAX_WORKERS = 32
_DEFAULT_WORKERS = 4  # shown if none are requested
_MAX_HITS = 2000
_MAX_NAMES = 200
_MAX_COUNTERS = 12
_MAX_WINDOWS = 40  # per worker
_ENCLOSING_TRACKS = (STEPS, WINDOWS)
_MAX_CACHED_CLOCKS = 64  # jobs
_CLOCK_SECONDS = 120  # how long the clock offsets of a running job are reused
_COUNTERS = (
    *("cpu.utilization_percent", "gpu.utilization_percent", "gpu.memory_used_percent"),
    *("memory.used_percent", "disk.busy_percent"),
)


class Timeline(EndpointGroup):
    """`timeline`: slices wider than a pixel, the coverage of the rest, and metrics."""

    def __init__(self) -> None:
        self._trace_cache = TraceCache()
        self._clocks: BoundedCache[tuple[object, Clocks]] = BoundedCache(_MAX_CACHED_CLOCKS)

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/timeline", self._window),
            Endpoint("/jobs/{job}/timeline/totals", self._totals),
            Endpoint("/jobs/{job}/timeline/search", self._search),
            Endpoint("/jobs/{job}/timeline/slice", self._slice),
        )

    def _window(self, query: Query) -> Reply:
        start_ns, extent = _start_ns(query), _extent(query)
        pixels = Pixels(extent[0], extent[1], query.pixels)
        with query.job.results() as results:
            timeline = results.timeline()
            traces = self._traces(query, timeline)
            clocks = self._clocks_of(query, timeline)
            nodes = {trace.node for trace in traces} or set(
                query.job.facts.nodes[:_DEFAULT_WORKERS]
            )
            counters = list(_counters(timeline.systems, clocks, nodes, pixels))
        frame = _Frame(start_ns, pixels)
        header = {
            "start": (pixels.start_ns - start_ns) / NANOSECONDS,
            "end": (pixels.end_ns - start_ns) / NANOSECONDS,
            "px": pixels.count,
            "workers": [frame.worker(trace) for trace in traces],
            "counters": [frame.counter(*counter) for counter in counters],
            "windows": [window for trace in traces for window in _windows(trace, start_ns)],
            "clock_error_seconds": _seconds(clocks.error_ns),
        }
        return frame_reply(frame.builder.build({**header, **frame.texts()}))

    def _totals(self, query: Query) -> Reply:
        title = query.text("track")
        rows = []
        extent = _extent(query)
        with query.job.results() as results:
            for trace in self._traces(query, results.timeline()):
                for track in trace.tracks:
                    # steps and profiler windows enclose the other tracks
                    if track.title == title or not (title or track.title in _ENCLOSING_TRACKS):
                        rows += [_sums(trace, track, *sums) for sums in trace.totals(track, extent)]
        rows.sort(key=lambda row: -float(row["self_seconds"]))
        return json_reply({"names": len(rows), "rows": rows[:_MAX_NAMES]})

    def _search(self, query: Query) -> Reply:
        text = query.text("text").strip()
        if not text:
            raise UsageError("text is empty. Specify a search text.")
        hits: list[tuple[int, WorkerTrace, int]] = []
        total = 0
        with query.job.results() as results:
            for trace in self._traces(query, results.timeline()):
                indices = trace.matching(text)
                total += len(indices)
                hits += [
                    (int(trace.starts_ns[index]), trace, int(index))
                    for index in indices[:_MAX_HITS]
                ]
        hits.sort(key=lambda hit: hit[0])
        start_ns = _start_ns(query)
        documents = [_hit(trace, index, start_ns) for _, trace, index in hits[:_MAX_HITS]]
        return json_reply({"total": total, "hits": documents})

    def _slice(self, query: Query) -> Reply:
        lane, at = query.integer("lane", 0, 0, 10_000), query.seconds("at")
        title = query.text("track")
        if at is None:
            raise UsageError("at is missing. Specify seconds since the start of the job.")
        start_ns = _start_ns(query)
        with query.job.results() as results:
            trace = self._trace(query, results.timeline(), query.worker)
            track = trace.track(title)
            at_ns = start_ns + round(at * NANOSECONDS)
            index = None if track is None else trace.index_at(track, lane, at_ns)
            if index is None:
                raise UsageError(f"Track {title!r} has no slice in lane {lane} at second {at}.")
            start = (int(trace.starts_ns[index]) - start_ns) / NANOSECONDS
            return json_reply({"start": start, **trace.document(index)})

    def _traces(self, query: Query, timeline: TimelineResult) -> list[WorkerTrace]:
        ranks = query.job.facts.workers
        requested = query.texts("workers", _MAX_WORKERS) or ranks[:_DEFAULT_WORKERS]
        for rank in requested:
            if rank not in ranks:
                raise UsageError(f"Job {query.job.name!r} has no worker {rank!r}.")
        return [self._trace(query, timeline, int(rank)) for rank in requested]

    def _trace(self, query: Query, timeline: TimelineResult, rank: int) -> WorkerTrace:
        def make() -> WorkerTrace:
            readers = tuple(reader for reader in timeline.readers if reader.rank == rank)
            sources = Sources(readers, (), self._clocks_of(query, timeline).offsets_ns)
            return WorkerTrace(sources.slices()[0])

        return self._trace_cache.find(query.job, rank, make)

    def _clocks_of(self, query: Query, timeline: TimelineResult) -> Clocks:
        """The clock offsets between nodes, cached because they depend on every worker."""
        job, uri = query.job, query.job.backend.uri
        is_over = job.facts.state.is_over
        revision = job.revision if is_over else job.clock.seconds() // _CLOCK_SECONDS
        cached = self._clocks.get(uri)
        if cached is None or cached[0] != revision:
            cached = (revision, timeline.clocks)
            self._clocks.put(uri, cached)
        return cached[1]


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NANOSECONDS


def _start_ns(query: Query) -> int:
    return query.job.extent.start_ns or 0


def _extent(query: Query) -> tuple[int, int]:
    """The range from `start` to `end` in nanoseconds; the whole job by default."""
    extent = query.job.extent
    start, end = query.seconds("start"), query.seconds("end")
    first_ns = extent.start_ns or 0
    start_ns = first_ns + (0 if start is None else round(start * NANOSECONDS))
    end_ns = (extent.end_ns or 0) if end is None else first_ns + round(end * NANOSECONDS)
    if end_ns <= start_ns:
        raise UsageError("The time range is empty: end must be later than start.")
    return start_ns, end_ns


def _windows(trace: WorkerTrace, start_ns: int) -> list[dict[str, Any]]:
    """Profiler windows, which may be too short to be visible in a long range."""
    track = trace.track(WINDOWS)
    return [
        {
            "worker": trace.worker,
            "kind": trace.names[int(trace.name_numbers[index])],
            "start": (int(trace.starts_ns[index]) - start_ns) / NANOSECONDS,
            "end": (int(trace.ends_ns[index]) - start_ns) / NANOSECONDS,
            "step": int(trace.steps[index]),
        }
        for index in (track.indices[:_MAX_WINDOWS].tolist() if track else ())
    ]


def _counters(
    systems: Sequence[SystemReader], clocks: Clocks, nodes: set[str], pixels: Pixels
) -> Iterator[tuple[str, Series, Any]]:
    """The main metrics of some nodes, in buckets of the corrected clock."""
    for reader in systems:
        series = _chosen(reader)
        if reader.node in nodes and series:
            offset_ns = clocks.offsets_ns.get(reader.node, 0)
            margin_ns = _interval_ns(reader)  # so that lines reach the edges of the window
            within = TimeRange(
                pixels.start_ns + offset_ns - margin_ns, pixels.end_ns + offset_ns + margin_ns
            )
            rollup = reader.buckets(series, pixels.count, within)
            interval_ns = max(rollup.width_ns, margin_ns)
            corrected = replace(
                rollup,
                starts_ns=rollup.starts_ns - offset_ns,
                minimum=fill_between(rollup.minimum, rollup.starts_ns, interval_ns),
                mean=fill_between(rollup.mean, rollup.starts_ns, interval_ns),
                maximum=fill_between(rollup.maximum, rollup.starts_ns, interval_ns),
            )
            for row, each in enumerate(series):
                yield reader.node, each, (corrected, row)


def _interval_ns(reader: SystemReader) -> int:
    """1.5 times the average time between samples."""
    extent = reader.extent
    if extent is None or extent.rows < 2:
        return 0
    return round(1.5 * (extent.last_ns - extent.first_ns) / (extent.rows - 1))


def _chosen(reader: SystemReader) -> tuple[Series, ...]:
    chosen: list[Series] = []
    for metric in _COUNTERS:
        series = reader.series(metric)
        node_series = [each for each in series if not each.device]
        chosen += node_series or series
    return tuple(chosen[:_MAX_COUNTERS])


class _Frame:
    """Builds the binary reply and numbers the names in it."""

    def __init__(self, start_ns: int, pixels: Pixels) -> None:
        self.builder = FrameBuilder()
        self._start_ns = start_ns
        self._pixels = pixels
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}

    def texts(self) -> dict[str, Any]:
        """The names and categories that the numbers refer to."""
        return {"names": list(self._names), "categories": list(self._categories)}

    def worker(self, trace: WorkerTrace) -> dict[str, Any]:
        """One worker and its tracks."""
        tracks = [self._track(trace, track) for track in trace.tracks]
        return {"worker": trace.worker, "node": trace.node, "tracks": tracks}

    def counter(self, node: str, series: Series, bucket_row: Any) -> dict[str, Any]:
        """One metric of one node."""
        rollup, row = bucket_row
        starts = (rollup.starts_ns - self._start_ns) / NANOSECONDS
        columns = {"minimum": rollup.minimum, "mean": rollup.mean, "maximum": rollup.maximum}
        return {
            "node": node,
            "metric": series.metric.name,
            "device": series.device,
            "unit": series.metric.unit,
            "starts": self.builder.add(starts.astype("<f8")),
            "width": rollup.width_ns / NANOSECONDS,
            **{
                name: self.builder.add(values[row].astype("<f4"))
                for name, values in columns.items()
            },
        }

    def _track(self, trace: WorkerTrace, track: Track) -> dict[str, Any]:
        folded = trace.folded(track, self._pixels)
        wide = folded.wide
        starts_ns = trace.starts_ns[wide]
        names = [self._number(trace.names[number]) for number in trace.name_numbers[wide].tolist()]
        kinds = [
            self._kind(trace.categories[number]) for number in trace.category_numbers[wide].tolist()
        ]
        columns = {
            "starts": ((starts_ns - self._start_ns) / NANOSECONDS).astype("<f8"),
            "seconds": ((trace.ends_ns[wide] - starts_ns) / NANOSECONDS).astype("<f4"),
            "lanes": trace.lanes_at(track, wide).astype("<u2"),
            "names": np.array(names, dtype="<u4"),
            "categories": np.array(kinds, dtype="<u1"),
        }
        if folded.narrow:
            columns["covered"] = quantized(folded.covered, 1 / 250, np.dtype("<u1"))
            columns |= self._covered_names(trace, track)
        return {
            "title": track.title,
            "lanes_count": track.lane_count,
            "count": len(track.indices),
            "narrow": folded.narrow,
            **{name: self.builder.add(column) for name, column in columns.items()},
        }

    def _covered_names(self, trace: WorkerTrace, track: Track) -> dict[str, Any]:
        """The phase of each cell, so that phases keep their colors when zoomed out."""
        covered = trace.covered_names(track, self._pixels)
        if covered is None:
            return {}
        distinct, numbers = np.unique(covered, return_inverse=True)
        shown = [self._number(trace.names[name]) if name >= 0 else 0 for name in distinct.tolist()]
        return {"covered_names": np.array(shown, dtype="<u4")[numbers.reshape(-1)]}

    def _number(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _kind(self, category: str) -> int:
        return self._categories.setdefault(category, len(self._categories))


def _sums(trace: WorkerTrace, track: Track, category: str, name: str, sums: Any) -> dict[str, Any]:
    return {
        "worker": trace.worker,
        "track": track.title,
        "category": category,
        "name": name,
        "count": sums.count,
        "seconds": sums.total_ns / NANOSECONDS,
        "self_seconds": sums.self_ns / NANOSECONDS,
        "mean_seconds": sums.total_ns / sums.count / NANOSECONDS,
        "longest_seconds": sums.longest_ns / NANOSECONDS,
    }


def _hit(trace: WorkerTrace, index: int, start_ns: int) -> dict[str, Any]:
    track = next(track for track in trace.tracks if _has(track, index))
    lane = int(trace.lanes_at(track, np.array([index]))[0])
    return {
        "start": (int(trace.starts_ns[index]) - start_ns) / NANOSECONDS,
        "seconds": float(trace.ends_ns[index] - trace.starts_ns[index]) / NANOSECONDS,
        "worker": trace.worker,
        "track": track.title,
        "lane": lane,
        "name": trace.names[int(trace.name_numbers[index])],
    }


def _has(track: Track, index: int) -> bool:
    at = int(np.searchsorted(track.indices, index))
    return at < len(track.indices) and int(track.indices[at]) == index
