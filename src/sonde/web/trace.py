"""Slices of workers in lanes, ready to be cut to a window: prepared once, asked many times."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.tracks import Folded, Named, Pixels, Sums, fold, nested
from sonde.bounded_cache import BoundedCache
from sonde.read.timeline import PHASES, WorkerSlices
from sonde.records.profile import DEVICE_CATEGORIES, NO_CORRELATION, OperationCategory
from sonde.records.step import NO_STEP, EventCategory
from sonde.results.chrome_trace import track_order
from sonde.store.tables import texts_of, to_numpy
from sonde.web.shared_job import SharedJob

Numbers = npt.NDArray[np.int64]

_RUNTIME = OperationCategory.RUNTIME.value
_ON_DEVICE = tuple(one.value for one in DEVICE_CATEGORIES)
_FRESH_SECONDS = 3.0  # so old may be what is shown of a job that runs
_MOST_SHARE = 0.1  # of the time may go into reading it again
_KEPT_SLICES = 4_000_000  # of all workers together: about half a gigabyte


@dataclass(frozen=True)
class Track:
    """One track of a worker: the places of its slices, in order of time, and their lanes."""

    title: str
    places: Numbers
    lanes: Numbers
    parents: Numbers  # the slice that each lies in, by its place in the track, or -1

    @property
    def lane_count(self) -> int:
        """How many lanes it needs."""
        return int(self.lanes.max()) + 1 if len(self.lanes) else 0


class WorkerTrace:
    """Everything one worker did, as columns."""

    def __init__(self, slices: WorkerSlices) -> None:
        table = slices.table
        self.worker = slices.worker
        self.node = slices.node
        self.starts_ns: Numbers = to_numpy(table["start_ns"])
        self.ends_ns: Numbers = self.starts_ns + to_numpy(table["duration_ns"])
        self.steps: Numbers = to_numpy(table["step"])
        self.categories, self.category_numbers = texts_of(table["category"])
        names, numbers = texts_of(table["name"])
        self._plain_numbers: Numbers = numbers.astype(np.int64)
        self.names, self.name_numbers = self._titled(names, self._plain_numbers)
        self._table = table
        self.tracks = self._find_tracks()

    def __len__(self) -> int:
        return len(self.starts_ns)

    def track(self, title: str) -> Track | None:
        """The track of that title, if there is one."""
        return next((one for one in self.tracks if one.title == title), None)

    def folded(self, track: Track, pixels: Pixels) -> Folded:
        """What of a track can be seen in a window; places count among all of the worker's."""
        mine = track.places
        found = fold(self.starts_ns[mine], self.ends_ns[mine], track.lanes, pixels)
        return Folded(mine[found.wide], found.narrow, found.covered)

    def lanes_at(self, track: Track, places: Numbers) -> Numbers:
        """The lanes of some of its slices."""
        return np.asarray(track.lanes[np.searchsorted(track.places, places)])

    def totals(self, track: Track, within: tuple[int, int]) -> list[tuple[str, str, Sums]]:
        """Category, name and sums of what a track did in a range; all steps have one name."""
        mine = track.places
        kinds = len(self.categories) or 1
        both = self._plain_numbers[mine] * kinds + self.category_numbers[mine]
        named = Named(both, self.starts_ns[mine], self.ends_ns[mine], track.parents)
        return [
            (self.categories[one.name % kinds], self.names[one.name // kinds], one)
            for one in named.sums(*within)
        ]

    def matching(self, text: str) -> Numbers:
        """Places of slices whose name has a text in it, whatever the case, in order of time."""
        wanted = text.casefold()
        fits = np.array([wanted in name.casefold() for name in self.names] or [False])
        return np.flatnonzero(fits[self.name_numbers]) if len(self) else np.empty(0, np.int64)

    def place_at(self, track: Track, lane: int, instant_ns: int) -> int | None:
        """The slice of a lane that an instant lies in."""
        mine = track.places[track.lanes == lane]
        before = int(np.searchsorted(self.starts_ns[mine], instant_ns, side="right")) - 1
        if before < 0 or self.ends_ns[mine[before]] < instant_ns:
            return None
        return int(mine[before])

    def told(self, place: int) -> dict[str, Any]:
        """Everything known of one slice."""
        row = self._table.slice(place, 1).to_pylist()[0]
        called = self._call_of(place)
        asked_ns = int(self.starts_ns[place if called is None else called])
        step = int(self.steps[place])
        return {
            "name": self.names[int(self.name_numbers[place])],
            "category": row["category"],
            "track": row["track"],
            "worker": self.worker,
            "node": self.node,
            "device": row["device"],
            "module": row["module"] or (self._module_of(called) if called is not None else ""),
            "seconds": float(self.ends_ns[place] - self.starts_ns[place]) / 1e9,
            "step": None if step == NO_STEP else step,
            "phase": self._phase_at(asked_ns),
            "launched_by": None if called is None else self.names[int(self.name_numbers[called])],
            "launch_seconds": None
            if called is None
            else float(self.starts_ns[place] - self.starts_ns[called]) / 1e9,
            "detail": _detail(row["detail"]),
        }

    def _call_of(self, place: int) -> int | None:
        """The driver's call that started what a device did.

        Every life of a worker counts its calls anew: of several with one number it is the nearest.
        """
        category = self.categories[int(self.category_numbers[place])]
        correlations: Numbers = to_numpy(self._table["correlation"])
        if category not in _ON_DEVICE or correlations[place] == NO_CORRELATION:
            return None
        same = np.flatnonzero(correlations == correlations[place]).tolist()
        calls = [
            one for one in same if self.categories[int(self.category_numbers[one])] == _RUNTIME
        ]
        away_ns = np.abs(self.starts_ns[calls] - self.starts_ns[place])
        return calls[int(away_ns.argmin())] if calls else None

    def _module_of(self, place: int) -> str:
        return str(self._table["module"][place].as_py())

    def _phase_at(self, instant_ns: int) -> str | None:
        track = self.track(PHASES)
        if track is None:
            return None
        mine = track.places
        is_in = (self.starts_ns[mine] <= instant_ns) & (self.ends_ns[mine] > instant_ns)
        found = mine[is_in]
        return self.names[int(self.name_numbers[found[-1]])] if len(found) else None

    def _titled(self, names: Sequence[str], numbers: Numbers) -> tuple[list[str], Numbers]:
        """Names as they are shown: every step has its number in it."""
        step = EventCategory.STEP.value
        if step not in self.categories:
            return list(names), numbers
        is_step = self.category_numbers == self.categories.index(step)
        known, places = np.unique(self.steps[is_step], return_inverse=True)
        titled = numbers.copy()
        titled[is_step] = len(names) + places
        return [*names, *(f"step {one}" for one in known.tolist())], titled

    def _find_tracks(self) -> tuple[Track, ...]:
        titles, tracks = texts_of(self._table["track"])
        found = []
        for number in sorted(set(tracks.tolist()), key=lambda one: track_order(titles[one])):
            mine = np.flatnonzero(tracks == number)
            found_in = nested(self.starts_ns[mine], self.ends_ns[mine])
            found.append(Track(titles[number], mine, found_in.lanes, found_in.parents))
        return tuple(found)


def _detail(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = text
    return found if isinstance(found, dict) else {"detail": found}


@dataclass(frozen=True)
class _Kept:
    """A worker as it was read, when, and how long that took."""

    trace: WorkerTrace
    mark: object
    read_at: float
    took_seconds: float

    def is_good(self, mark: object, now: float) -> bool:
        """Whether it may still be shown: of a job that runs, for a while."""
        if mark is not None:
            return self.mark == mark
        return now - self.read_at < max(_FRESH_SECONDS, self.took_seconds / _MOST_SHARE)


class KeptTraces:
    """Workers that were asked for lately; a job that has moved on is read again, not too often."""

    def __init__(self) -> None:
        # one that is above the limit alone is still kept, until another is asked for
        self._traces: BoundedCache[_Kept] = BoundedCache(
            _KEPT_SLICES, lambda kept: min(len(kept.trace), _KEPT_SLICES)
        )

    def find(self, job: SharedJob, rank: int, make: Callable[[], WorkerTrace]) -> WorkerTrace:
        """The trace of a job's worker, made if nobody asked for it before."""
        key, began = (job.backend.uri, rank), job.clock.seconds()
        mark = job.revision if job.facts.state.is_over else None
        cached = self._traces.get(key)
        if cached is not None and cached.is_good(mark, began):
            return cached.trace
        made = make()
        self._traces.put(key, _Kept(made, mark, began, job.clock.seconds() - began))
        return made
