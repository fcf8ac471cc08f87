"""One timeline of workers and machines: what a window shows, sums, hits of a search, one slice.

Times here are seconds since the job began: Unix seconds as floats would blur microseconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.analyze.tracks import Pixels
from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.read.system import SystemReader
from sonde.read.timeline import STEPS, WINDOWS, Sources
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.results.clocks import Clocks
from sonde.results.timeline import Timeline as TimelineResult
from sonde.web.answers._answers import Address, Answers
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply, json_reply
from sonde.web.trace import KeptTraces, Track, WorkerTrace

_MOST_WORKERS = 32
_FIRST_WORKERS = 4  # shown where nobody is named
_MOST_HITS = 2000
_MOST_NAMES = 200
_MOST_COUNTERS = 12
_MOST_WINDOWS = 40  # of a worker
_AROUND = (STEPS, WINDOWS)
_STEADY_SECONDS = 120  # so old may be what is said of the clocks of a job that runs
_COUNTERS = (
    *("cpu.utilization_percent", "gpu.utilization_percent", "gpu.memory_used_percent"),
    *("memory.used_percent", "disk.busy_percent"),
)


class Timeline(Answers):
    """`timeline`: slices of a column or more, the share that the rest covers, and metrics."""

    def __init__(self) -> None:
        self._kept = KeptTraces()
        self._clocks: dict[str, tuple[object, Clocks]] = {}  # of each job the last ones

    def addresses(self) -> Sequence[Address]:
        """The window, and three questions about what it shows."""
        return (
            Address("/jobs/{job}/timeline", self._window),
            Address("/jobs/{job}/timeline/totals", self._totals),
            Address("/jobs/{job}/timeline/search", self._search),
            Address("/jobs/{job}/timeline/slice", self._slice),
        )

    def _window(self, question: Question) -> Reply:
        start_ns, extent = _start_ns(question), _extent(question)
        pixels = Pixels(extent[0], extent[1], question.pixels)
        with question.job.results() as results:
            timeline = results.timeline()
            traces = self._traces(question, timeline)
            clocks = self._clocks_of(question, timeline)
            nodes = {one.node for one in traces} or set(question.job.facts.nodes[:_FIRST_WORKERS])
            counters = list(_counters(timeline.systems, clocks, nodes, pixels))
        frame = _Frame(start_ns, pixels)
        header = {
            "start": (pixels.start_ns - start_ns) / NANOSECONDS,
            "end": (pixels.end_ns - start_ns) / NANOSECONDS,
            "px": pixels.count,
            "workers": [frame.worker(one) for one in traces],
            "counters": [frame.counter(*one) for one in counters],
            "windows": [one for trace in traces for one in _windows(trace, start_ns)],
            "clock_error_seconds": _seconds(clocks.error_ns),
        }
        return frame_reply(frame.builder.build({**header, **frame.texts()}))

    def _totals(self, question: Question) -> Reply:
        wanted = question.text("track")
        rows = []
        extent = _extent(question)
        with question.job.results() as results:
            for trace in self._traces(question, results.timeline()):
                for track in trace.tracks:
                    # steps and windows hold all the rest, and are nobody's work
                    if track.title == wanted or not (wanted or track.title in _AROUND):
                        rows += [_sums(trace, track, *one) for one in trace.totals(track, extent)]
        rows.sort(key=lambda row: -float(row["self_seconds"]))
        return json_reply({"names": len(rows), "rows": rows[:_MOST_NAMES]})

    def _search(self, question: Question) -> Reply:
        text = question.text("text").strip()
        if not text:
            raise UsageError("text is empty. Say what to look for.")
        hits: list[tuple[int, WorkerTrace, int]] = []
        total = 0
        with question.job.results() as results:
            for trace in self._traces(question, results.timeline()):
                places = trace.matching(text)
                total += len(places)
                hits += [
                    (int(trace.starts_ns[one]), trace, int(one)) for one in places[:_MOST_HITS]
                ]
        hits.sort(key=lambda one: one[0])
        start_ns = _start_ns(question)
        found = [_hit(trace, place, start_ns) for _, trace, place in hits[:_MOST_HITS]]
        return json_reply({"total": total, "hits": found})

    def _slice(self, question: Question) -> Reply:
        lane, at = question.whole("lane", 0, 0, 10_000), question.seconds("at")
        title = question.text("track")
        if at is None:
            raise UsageError("at is missing: seconds since the job began.")
        start_ns = _start_ns(question)
        with question.job.results() as results:
            trace = self._trace(question, results.timeline(), question.worker)
            track = trace.track(title)
            at_ns = start_ns + round(at * NANOSECONDS)
            place = None if track is None else trace.place_at(track, lane, at_ns)
            if place is None:
                raise UsageError(f"Nothing of {title!r} lies at {at:.9g} s in lane {lane}.")
            start = (int(trace.starts_ns[place]) - start_ns) / NANOSECONDS
            return json_reply({"start": start, **trace.told(place)})

    def _traces(self, question: Question, timeline: TimelineResult) -> list[WorkerTrace]:
        ranks = question.job.facts.workers
        wanted = question.texts("workers", _MOST_WORKERS) or ranks[:_FIRST_WORKERS]
        for one in wanted:
            if one not in ranks:
                raise UsageError(f"Job {question.job.name!r} has no worker {one!r}.")
        return [self._trace(question, timeline, int(one)) for one in wanted]

    def _trace(self, question: Question, timeline: TimelineResult, rank: int) -> WorkerTrace:
        def make() -> WorkerTrace:
            readers = tuple(one for one in timeline.readers if one.rank == rank)
            sources = Sources(readers, (), self._clocks_of(question, timeline).offsets_ns)
            return WorkerTrace(sources.slices()[0])

        return self._kept.find(question.job, rank, make)

    def _clocks_of(self, question: Question, timeline: TimelineResult) -> Clocks:
        """How far clocks are apart: that needs a look at every worker, so it is kept for long."""
        job, uri = question.job, question.job.backend.uri
        is_over = job.facts.state.is_over
        mark = job.revision if is_over else job.clock.seconds() // _STEADY_SECONDS
        known = self._clocks.get(uri)
        if known is None or known[0] != mark:
            known = (mark, timeline.clocks)
            self._clocks[uri] = known
        return known[1]


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NANOSECONDS


def _start_ns(question: Question) -> int:
    return question.job.extent.start_ns or 0


def _extent(question: Question) -> tuple[int, int]:
    """From `start` to `end`, in nanoseconds; the whole job where they are not given."""
    whole = question.job.extent
    start, end = question.seconds("start"), question.seconds("end")
    first_ns = whole.start_ns or 0
    start_ns = first_ns + (0 if start is None else round(start * NANOSECONDS))
    end_ns = (whole.end_ns or 0) if end is None else first_ns + round(end * NANOSECONDS)
    if end_ns <= start_ns:
        raise UsageError("end comes after start: there is nothing between them.")
    return start_ns, end_ns


def _windows(trace: WorkerTrace, start_ns: int) -> list[dict[str, Any]]:
    """Where profilers looked deeper, which may be too short to be seen among hours."""
    track = trace.track(WINDOWS)
    return [
        {
            "worker": trace.worker,
            "kind": trace.names[int(trace.name_numbers[place])],
            "start": (int(trace.starts_ns[place]) - start_ns) / NANOSECONDS,
            "end": (int(trace.ends_ns[place]) - start_ns) / NANOSECONDS,
            "step": int(trace.steps[place]),
        }
        for place in (track.places[:_MOST_WINDOWS].tolist() if track else ())
    ]


def _counters(
    systems: Sequence[SystemReader], clocks: Clocks, nodes: set[str], pixels: Pixels
) -> Iterator[tuple[str, Series, Any]]:
    """The metrics that tell most, of some nodes, in buckets of the corrected clock."""
    for reader in systems:
        series = _chosen(reader)
        if reader.node in nodes and series:
            offset_ns = clocks.offsets_ns.get(reader.node, 0)
            beside_ns = _interval_ns(reader)  # a line comes from somewhere, and goes on
            within = TimeRange(
                pixels.start_ns + offset_ns - beside_ns, pixels.end_ns + offset_ns + beside_ns
            )
            found = reader.buckets(series, pixels.count, within)
            moved = replace(found, starts_ns=found.starts_ns - offset_ns)
            for place, one in enumerate(series):
                yield reader.node, one, (moved, place)


def _interval_ns(reader: SystemReader) -> int:
    """A little more than the time between two samples."""
    extent = reader.extent
    if extent is None or extent.rows < 2:
        return 0
    return round(1.5 * (extent.last_ns - extent.first_ns) / (extent.rows - 1))


def _chosen(reader: SystemReader) -> tuple[Series, ...]:
    found: list[Series] = []
    for metric in _COUNTERS:
        every = reader.series(metric)
        whole = [one for one in every if not one.device]
        found += whole or every
    return tuple(found[:_MOST_COUNTERS])


class _Frame:
    """Numbers its names, and puts tracks and counters into one binary answer."""

    def __init__(self, start_ns: int, pixels: Pixels) -> None:
        self.builder = FrameBuilder()
        self._start_ns = start_ns
        self._pixels = pixels
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}

    def texts(self) -> dict[str, Any]:
        """What the numbers stand for."""
        return {"names": list(self._names), "categories": list(self._categories)}

    def worker(self, trace: WorkerTrace) -> dict[str, Any]:
        """One worker and its tracks."""
        tracks = [self._track(trace, one) for one in trace.tracks]
        return {"worker": trace.worker, "node": trace.node, "tracks": tracks}

    def counter(self, node: str, series: Series, found: Any) -> dict[str, Any]:
        """One metric of one node."""
        rollup, place = found
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
                name: self.builder.add(values[place].astype("<f4"))
                for name, values in columns.items()
            },
        }

    def _track(self, trace: WorkerTrace, track: Track) -> dict[str, Any]:
        found = trace.folded(track, self._pixels)
        wide = found.wide
        starts_ns = trace.starts_ns[wide]
        names = [self._number(trace.names[one]) for one in trace.name_numbers[wide].tolist()]
        kinds = [self._kind(trace.categories[one]) for one in trace.category_numbers[wide].tolist()]
        columns = {
            "starts": ((starts_ns - self._start_ns) / NANOSECONDS).astype("<f8"),
            "seconds": ((trace.ends_ns[wide] - starts_ns) / NANOSECONDS).astype("<f4"),
            "lanes": trace.lanes_at(track, wide).astype("<u2"),
            "names": np.array(names, dtype="<u4"),
            "categories": np.array(kinds, dtype="<u1"),
        }
        if found.narrow:
            columns["covered"] = quantized(found.covered, 1 / 250, np.dtype("<u1"))
        return {
            "title": track.title,
            "lanes_count": track.lane_count,
            "count": len(track.places),
            "narrow": found.narrow,
            **{name: self.builder.add(column) for name, column in columns.items()},
        }

    def _number(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _kind(self, category: str) -> int:
        return self._categories.setdefault(category, len(self._categories))


def _sums(trace: WorkerTrace, track: Track, category: str, name: str, one: Any) -> dict[str, Any]:
    return {
        "worker": trace.worker,
        "track": track.title,
        "category": category,
        "name": name,
        "count": one.count,
        "seconds": one.total_ns / NANOSECONDS,
        "self_seconds": one.self_ns / NANOSECONDS,
        "mean_seconds": one.total_ns / one.count / NANOSECONDS,
        "longest_seconds": one.longest_ns / NANOSECONDS,
    }


def _hit(trace: WorkerTrace, place: int, start_ns: int) -> dict[str, Any]:
    track = next(one for one in trace.tracks if _has(one, place))
    lane = int(trace.lanes_at(track, np.array([place]))[0])
    return {
        "start": (int(trace.starts_ns[place]) - start_ns) / NANOSECONDS,
        "seconds": float(trace.ends_ns[place] - trace.starts_ns[place]) / NANOSECONDS,
        "worker": trace.worker,
        "track": track.title,
        "lane": lane,
        "name": trace.names[int(trace.name_numbers[place])],
    }


def _has(track: Track, place: int) -> bool:
    at = int(np.searchsorted(track.places, place))
    return at < len(track.places) and int(track.places[at]) == place
