"""Slices of workers in lanes, prepared once and cut to any window."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.analyze.tracks import (
    FoldedTrack,
    NamedSlices,
    Pixels,
    SliceTotals,
    dominant_names,
    fold,
    lay_out_track,
)
from sonde.bounded_cache import BoundedCache
from sonde.read.timeline import PHASES, WorkerSlices
from sonde.records.arrays import IntArray
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory
from sonde.records.step import NO_STEP, EventCategory
from sonde.results.chrome_trace import track_order
from sonde.store.tables import texts_of, to_numpy
from sonde.web.shared_job import SharedJob

_RUNTIME = OperationCategory.RUNTIME.value
_ON_DEVICE = tuple(category.value for category in DEVICE_CATEGORIES)
_FRESH_SECONDS = 3.0  # how long the trace of a running job is reused
_MAX_SHARE = 0.1  # of the time is spent rereading it
_MAX_CACHED_SLICES = 4_000_000  # in total: about half a gigabyte


@dataclass(frozen=True)
class Track:
    """One track of a worker: the indices of its slices, sorted by time, and their lanes."""

    title: str
    indices: IntArray
    lanes: IntArray
    parents: IntArray  # index within the track of the enclosing slice, or -1

    @property
    def lane_count(self) -> int:
        """The number of lanes."""
        return int(self.lanes.max()) + 1 if len(self.lanes) else 0


class WorkerTrace:
    """All slices of one worker, as columns."""

    def __init__(self, slices: WorkerSlices) -> None:
        table = slices.table
        self.worker = slices.worker
        self.node = slices.node
        self.starts_ns: IntArray = to_numpy(table["start_ns"])
        self.ends_ns: IntArray = self.starts_ns + to_numpy(table["duration_ns"])
        self.steps: IntArray = to_numpy(table["step"])
        self.categories, self.category_numbers = texts_of(table["category"])
        names, numbers = texts_of(table["name"])
        self._plain_numbers: IntArray = numbers.astype(np.int64)
        self.names, self.name_numbers = self._display_names(names, self._plain_numbers)
        self._table = table
        self.tracks = self._find_tracks()

    def __len__(self) -> int:
        return len(self.starts_ns)

    def track(self, title: str) -> Track | None:
        """Return the track with a title, or None if there is none."""
        return next((track for track in self.tracks if track.title == title), None)

    def folded(self, track: Track, pixels: Pixels) -> FoldedTrack:
        """The visible part of a track; indices refer to all slices of the worker."""
        indices = track.indices
        folded = fold(self.starts_ns[indices], self.ends_ns[indices], track.lanes, pixels)
        return FoldedTrack(indices[folded.wide], folded.narrow, folded.covered)

    def covered_names(self, track: Track, pixels: Pixels) -> IntArray | None:
        """The number of the phase that covers most of each cell; None for other tracks."""
        if not track.title.endswith(PHASES):
            return None
        indices = track.indices
        names = self.name_numbers[indices]
        return dominant_names(
            self.starts_ns[indices], self.ends_ns[indices], track.lanes, names, pixels
        )

    def lanes_at(self, track: Track, indices: IntArray) -> IntArray:
        """The lanes of some slices of a track."""
        return np.asarray(track.lanes[np.searchsorted(track.indices, indices)])

    def totals(self, track: Track, within: tuple[int, int]) -> list[tuple[str, str, SliceTotals]]:
        """Category, name and totals of a track's slices in a range; all steps have one name."""
        indices = track.indices
        kinds = len(self.categories) or 1
        combined = self._plain_numbers[indices] * kinds + self.category_numbers[indices]
        named = NamedSlices(combined, self.starts_ns[indices], self.ends_ns[indices], track.parents)
        return [
            (self.categories[totals.name % kinds], self.names[totals.name // kinds], totals)
            for totals in named.totals(*within)
        ]

    def matching(self, text: str) -> IntArray:
        """Indices of slices whose name contains a text, ignoring case, sorted by time."""
        needle = text.casefold()
        is_match = np.array([needle in name.casefold() for name in self.names] or [False])
        return np.flatnonzero(is_match[self.name_numbers]) if len(self) else np.empty(0, np.int64)

    def index_at(self, track: Track, lane: int, instant_ns: int) -> int | None:
        """The slice of a lane at an instant."""
        indices = track.indices[track.lanes == lane]
        before = int(np.searchsorted(self.starts_ns[indices], instant_ns, side="right")) - 1
        if before < 0 or self.ends_ns[indices[before]] < instant_ns:
            return None
        return int(indices[before])

    def document(self, index: int) -> dict[str, Any]:
        """All details of one slice."""
        row = self._table.slice(index, 1).to_pylist()[0]
        call = self._call_of(index)
        launched_ns = int(self.starts_ns[index if call is None else call])
        step = int(self.steps[index])
        return {
            "name": self.names[int(self.name_numbers[index])],
            "category": row["category"],
            "track": row["track"],
            "worker": self.worker,
            "node": self.node,
            "device": row["device"],
            "module": row["module"] or (self._module_of(call) if call is not None else ""),
            "seconds": float(self.ends_ns[index] - self.starts_ns[index]) / 1e9,
            "step": None if step == NO_STEP else step,
            "phase": self._phase_at(launched_ns),
            "launched_by": None if call is None else self.names[int(self.name_numbers[call])],
            "launch_seconds": None
            if call is None
            else float(self.starts_ns[index] - self.starts_ns[call]) / 1e9,
            "detail": _detail(row["detail"]),
        }

    def _call_of(self, index: int) -> int | None:
        """The driver call that launched a slice on a device.

        Each attempt of a worker numbers its calls from zero: of several matches, take the nearest.
        """
        category = self.categories[int(self.category_numbers[index])]
        correlations: IntArray = to_numpy(self._table["correlation"])
        if category not in _ON_DEVICE or correlations[index] == NO_CORRELATION:
            return None
        matches = np.flatnonzero(correlations == correlations[index]).tolist()
        calls = [
            candidate
            for candidate in matches
            if self.categories[int(self.category_numbers[candidate])] == _RUNTIME
        ]
        distances_ns = np.abs(self.starts_ns[calls] - self.starts_ns[index])
        return calls[int(distances_ns.argmin())] if calls else None

    def _module_of(self, index: int) -> str:
        return str(self._table["module"][index].as_py())

    def _phase_at(self, instant_ns: int) -> str | None:
        track = self.track(PHASES)
        if track is None:
            return None
        indices = track.indices
        is_in = (self.starts_ns[indices] <= instant_ns) & (self.ends_ns[indices] > instant_ns)
        phases = indices[is_in]
        return self.names[int(self.name_numbers[phases[-1]])] if len(phases) else None

    def _display_names(self, names: Sequence[str], numbers: IntArray) -> tuple[list[str], IntArray]:
        """Names as they are shown: each step includes its number."""
        step = EventCategory.STEP.value
        if step not in self.categories:
            return list(names), numbers
        is_step = self.category_numbers == self.categories.index(step)
        distinct, indices = np.unique(self.steps[is_step], return_inverse=True)
        titled = numbers.copy()
        titled[is_step] = len(names) + indices
        return [*names, *(f"step {number}" for number in distinct.tolist())], titled

    def _find_tracks(self) -> tuple[Track, ...]:
        titles, tracks = texts_of(self._table["track"])
        found_tracks = []
        for number in sorted(set(tracks.tolist()), key=lambda number: track_order(titles[number])):
            indices = np.flatnonzero(tracks == number)
            nesting = lay_out_track(self.starts_ns[indices], self.ends_ns[indices])
            found_tracks.append(Track(titles[number], indices, nesting.lanes, nesting.parents))
        return tuple(found_tracks)


def _detail(text: str) -> dict[str, Any]:
    try:
        detail = json.loads(text) if text else {}
    except ValueError:
        detail = text
    return detail if isinstance(detail, dict) else {"detail": detail}


@dataclass(frozen=True)
class _CachedTrace:
    """A trace, when it was read, and how long that took."""

    trace: WorkerTrace
    revision: object
    read_at: float
    took_seconds: float

    def is_fresh(self, revision: object, now: float) -> bool:
        """Whether it may still be shown; for a running job, for a limited time."""
        if revision is not None:
            return self.revision == revision
        return now - self.read_at < max(_FRESH_SECONDS, self.took_seconds / _MAX_SHARE)


class TraceCache:
    """Recently requested traces; those of running jobs are reread, but not too often."""

    def __init__(self) -> None:
        # a trace that exceeds the limit alone stays cached until the next one is added
        self._traces: BoundedCache[_CachedTrace] = BoundedCache(
            _MAX_CACHED_SLICES, lambda cached: min(len(cached.trace), _MAX_CACHED_SLICES)
        )

    def find(self, job: SharedJob, rank: int, make: Callable[[], WorkerTrace]) -> WorkerTrace:
        """The cached trace of a worker, or a new one."""
        key, began = (job.backend.uri, rank), job.clock.seconds()
        revision = job.revision if job.facts.state.is_over else None
        cached = self._traces.get(key)
        if cached is not None and cached.is_fresh(revision, began):
            return cached.trace
        trace = make()
        self._traces.put(key, _CachedTrace(trace, revision, began, job.clock.seconds() - began))
        return trace
