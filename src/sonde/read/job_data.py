"""A job's data as rules go through it: each part read once, and given out again and again."""

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sonde.bounded_cache import BoundedCache
from sonde.clock import NANOSECONDS, Clock
from sonde.read.attempts import Leg, legs_of
from sonde.read.open_job import OpenJob
from sonde.read.scalars import Matching, ScalarQuestion, read_scalars
from sonde.read.steps import StepTable, read_steps
from sonde.read.system import SystemReader
from sonde.read.tensors import Holders, TensorRows, joined, read_statistics_by_name
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.metric import Series
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.backends import Backend
from sonde.store.format import OBSERVATIONS
from sonde.store.places import find_job
from sonde.store.rollups import Floats, Instants
from sonde.store.statistics import COLUMNS, HISTOGRAM
from sonde.store.tables import texts_of, to_numpy

Reals = npt.NDArray[np.float64]
Part = TypeVar("Part")

# Statistics are many: only so many steps of them are held at a time.
BLOCK_STEPS = 2048
_MOST_BLOCKS = 6
_MOST_CUTS = 12  # windows: rules ask for the same ones, one after the other
_MARGIN_NS = NANOSECONDS
_LEAST_SECONDS = 8  # from now back: a look every other second needs little more


@dataclass(frozen=True)
class ScalarRows:
    """One scalar of one worker in one mode: of training in order of steps, else of time."""

    name: str
    mode: str
    source: str
    worker: int
    steps: Numbers
    times_ns: Numbers
    values: Reals

    def take(self, which: slice | npt.NDArray[Any]) -> "ScalarRows":
        """Some rows."""
        rows = (self.steps[which], self.times_ns[which], self.values[which])
        return ScalarRows(self.name, self.mode, self.source, self.worker, *rows)


@dataclass(frozen=True, slots=True)
class Observation:
    """One fact that the hook found."""

    kind: str
    subject: str
    worker: int
    time_ns: int
    step: int
    mode: str
    value: float
    detail: str

    @property
    def facts(self) -> Mapping[str, Any]:
        """Its detail, where that is JSON; else nothing."""
        try:
            found = json.loads(self.detail)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class ObservationRows:
    """All facts of one kind and one worker, in order of time."""

    kind: str
    worker: int
    times_ns: Numbers
    steps: Numbers
    values: Reals
    texts: tuple[npt.NDArray[Any], ...]  # subjects, modes, details

    def take(self, which: slice) -> Iterator[Observation]:
        """Some of them."""
        subjects, modes, details = (one[which].tolist() for one in self.texts)
        numbers = (self.times_ns[which], self.steps[which], self.values[which])
        times_ns, steps, values = (one.tolist() for one in numbers)
        for row in zip(subjects, times_ns, steps, modes, values, details, strict=True):
            subject, *rest = row
            yield Observation(self.kind, subject, self.worker, *rest)


@dataclass(frozen=True)
class _Block:
    """Statistics of some steps, by tensor."""

    # those that were recorded at the same steps together: mostly all of them were
    alike: Sequence[tuple[Numbers, Mapping[str, TensorRows]]]

    # windows of many widths hold the same few rows
    windows: BoundedCache[Mapping[str, TensorRows]] = field(
        default_factory=lambda: BoundedCache(_MOST_CUTS)
    )

    def between(self, start: int, end: int) -> Iterator[Mapping[str, TensorRows]]:
        """Those of fewer steps; mostly there are none at all."""
        for place, (steps, tensors) in enumerate(self.alike):
            first, last = steps.searchsorted((start, end)).tolist()
            if first < last:
                yield self._taken((place, first, last), tensors)

    def _taken(
        self, key: tuple[int, int, int], tensors: Mapping[str, TensorRows]
    ) -> Mapping[str, TensorRows]:
        which = slice(*key[1:])
        return self.windows.get_or_create(
            key, lambda: {name: rows.take(which) for name, rows in tensors.items()}
        )


class JobData:
    """Everything of a job that rules may ask for; nothing is read until it is."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self.backend = backend
        self.clock = clock
        self._opened = OpenJob(backend, clock)
        self._since_ns: int | None = None
        self._parts: dict[tuple[object, ...], Any] = {}
        self._others: dict[str, JobData] = {}
        self._nearer: dict[int, JobData] = {}
        self._use_facts(None)

    def refresh(self, since_ns: int | None = None) -> None:
        """Looks at a job that still grows; what lies before an instant is not needed any more."""
        self._opened.refresh()
        for other in self._others.values():
            other.refresh()
        self._use_facts(since_ns)

    def _use_facts(self, since_ns: int | None) -> None:
        self.facts, self._now_ns = self._opened.facts, self._opened.now_ns
        self.legs = legs_of(self.facts, self._now_ns)
        self._recent_ns = since_ns
        self._nearer.clear()
        self.begin_at(self._before(since_ns))

    @property
    def since_ns(self) -> int | None:
        """What lies before this instant is not given out; None: nothing is left out."""
        return self._since_ns

    def reach_back(self, since_ns: int | None) -> None:
        """Gives out what lies further back, too."""
        if self._since_ns is not None and (since_ns is None or since_ns < self._since_ns):
            self._nearer[self._since_ns] = copy(self)
            self.begin_at(self._before(since_ns))

    def begin_at(self, since_ns: int | None) -> None:
        """Gives out what came since an instant, and forgets what was read."""
        self._since_ns = since_ns
        self._parts = {}
        ranks = max((len(leg.ranks) for leg in self.legs), default=0) or 1
        self._blocks: BoundedCache[_Block] = BoundedCache(_MOST_BLOCKS * ranks)
        self._cuts: BoundedCache[Mapping[str, TensorRows]] = BoundedCache(_MOST_CUTS * ranks)

    def reaching(self, start_ns: int | None) -> "JobData":
        """The same with little more than what came since an instant: that is soon read."""
        since_ns = None if self._since_ns is None else self._before(start_ns)
        if self._since_ns is None or since_ns is None or since_ns <= self._since_ns:
            return self
        if since_ns not in self._nearer:
            self._nearer[since_ns] = copy(self)
            self._nearer[since_ns].begin_at(since_ns)
        return self._nearer[since_ns]

    @property
    def recent(self) -> "JobData":
        """The same with what has come since the last look."""
        return self.reaching(self._recent_ns)

    def worker(self, rank: int) -> WorkerReader:
        """The rows of one worker."""
        return self._opened.worker(rank)

    def node(self, name: str) -> SystemReader:
        """The samples of one node."""
        return self._opened.node(name)

    def steps(self, leg: Leg, rank: int, mode: str) -> StepTable:
        """The finished steps of a worker in one leg."""
        key = ("steps", leg.number, rank, mode)
        within = self._within(leg)
        return self._part(key, lambda: read_steps(self.worker(rank), mode, within=within))

    def ends(self, leg: Leg, rank: int, mode: str) -> Numbers:
        """When those steps were finished."""
        key = ("ends", leg.number, rank, mode)
        return self._part(key, lambda: self.steps(leg, rank, mode).ends_ns)

    def scalars(self, leg: Leg, rank: int) -> tuple[ScalarRows, ...]:
        """All scalars of a worker in one leg."""
        key = ("scalars", leg.number, rank)
        return self._part(key, lambda: _scalars(self.worker(rank), self._within(leg)))

    def scalars_called(
        self, leg: Leg, rank: int, mode: str, names: Container[str]
    ) -> tuple[ScalarRows, ...]:
        """Those of one mode with some names, which are chosen once."""

        def choose() -> tuple[ScalarRows, ...]:
            rows = self.scalars(leg, rank)
            return tuple(one for one in rows if one.mode == mode and one.name in names)

        return self._part(("scalars called", leg.number, rank, mode, names), choose)

    def samples(
        self, leg: Leg, node: str, metric: str
    ) -> tuple[tuple[Series, ...], Instants, Floats]:
        """All samples of a metric of a node in one leg."""

        def read() -> tuple[tuple[Series, ...], Instants, Floats]:
            series = self.node(node).series(metric)
            return (series, *self.node(node).samples(series, self._within(leg)))

        return self._part(("samples", leg.number, node, metric), read)

    def observations(self, leg: Leg, rank: int) -> Mapping[str, ObservationRows]:
        """What the hook of a worker found in one leg, by kind."""
        key = ("observations", leg.number, rank)
        return self._part(key, lambda: _observations(self.worker(rank), self._within(leg)))

    def observed(self, leg: Leg, rank: int, kind: str) -> tuple[ObservationRows, ...]:
        """Those whose kind fits a pattern, which are chosen once."""

        def choose() -> tuple[ObservationRows, ...]:
            rows_of, fitting = self.observations(leg, rank), Matching(kind)
            return tuple(rows for name, rows in rows_of.items() if name in fitting)

        return self._part(("observed", leg.number, rank, kind), choose)

    def infos(self) -> Mapping[str, Holders]:
        """What is known of each tensor."""
        return self._opened.tensors()

    def members(self, collection: str) -> Mapping[str, TensorInfo]:
        """The tensors of a collection, and what is known of each; `all` is every tensor."""

        def read() -> Mapping[str, TensorInfo]:
            infos = {name: one[min(one)] for name, one in self.infos().items()}
            return {
                name: info
                for name, info in infos.items()
                if collection == "all" or collection in info.collections
            }

        return self._part(("members", collection), read)

    def statistics(
        self, leg: Leg, rank: int, mode: str, within: StepRange, *, with_histogram: bool = False
    ) -> Mapping[str, TensorRows]:
        """The statistics of some steps of a worker, by tensor; many rules ask for the same."""
        start, end = within.start or 0, within.end or 0

        def read() -> Mapping[str, TensorRows]:
            parts: list[Mapping[str, TensorRows]] = []
            for number in range(start // BLOCK_STEPS, (end - 1) // BLOCK_STEPS + 1):
                block = self._block(leg, rank, mode, number, with_histogram=with_histogram)
                parts += block.between(start, end)
            return parts[0] if len(parts) == 1 else _together(parts)

        return self._cuts.get_or_create((leg.number, rank, mode, start, end, with_histogram), read)

    def beside(self, job: str) -> "JobData":
        """Another job, by its name in the same store or by its address."""
        if job not in self._others:
            store = self.backend.uri.rstrip("/").rpartition("/")[0]
            self._others[job] = JobData(find_job(job, store), self.clock)
        return self._others[job]

    def _block(
        self, leg: Leg, rank: int, mode: str, number: int, *, with_histogram: bool
    ) -> "_Block":

        def read() -> _Block:
            steps = StepRange(number * BLOCK_STEPS, (number + 1) * BLOCK_STEPS)
            columns = (*COLUMNS, HISTOGRAM) if with_histogram else COLUMNS
            rows = read_statistics_by_name(
                self.worker(rank), mode, (steps, self._within(leg)), columns
            )
            alike: dict[bytes, tuple[Numbers, dict[str, TensorRows]]] = {}
            for name, one in rows.items():
                alike.setdefault(one.steps.tobytes(), (one.steps, {}))[1][name] = one
            return _Block(tuple(alike.values()))

        return self._blocks.get_or_create((leg.number, rank, mode, number, with_histogram), read)

    def _before(self, start_ns: int | None) -> int | None:
        """An instant at which reading may begin: one of few, so that much is read only once."""
        if start_ns is None:
            return None
        seconds = _LEAST_SECONDS
        while start_ns < self._now_ns - seconds * NANOSECONDS:
            seconds *= 2
        return self._now_ns - seconds * NANOSECONDS

    def _within(self, leg: Leg) -> TimeRange:
        if self._since_ns is None:
            return leg.within
        return TimeRange(max(leg.start_ns, self._since_ns - _MARGIN_NS), leg.end_ns)

    def _part(self, key: tuple[object, ...], read: Callable[[], Part]) -> Part:
        if key not in self._parts:
            self._parts[key] = read()
        return cast("Part", self._parts[key])


def _together(parts: Sequence[Mapping[str, TensorRows]]) -> dict[str, TensorRows]:
    """Rows of tensors that follow each other."""
    found: dict[str, list[TensorRows]] = {}
    for part in parts:
        for name, rows in part.items():
            found.setdefault(name, []).append(rows)
    return {name: joined(rows) for name, rows in found.items()}


def _scalars(reader: WorkerReader, within: TimeRange) -> tuple[ScalarRows, ...]:
    table = read_scalars([reader], ScalarQuestion(Matching("*"), within=within))
    texts = [texts_of(table[name]) for name in ("name", "mode", "source")]
    steps, times_ns = to_numpy(table["step"]), to_numpy(table["time_ns"])
    values = to_numpy(table["value"])
    (names, of_name), (modes, of_mode), (sources, of_source) = texts
    shape = (max(1, len(names)), max(1, len(modes)), max(1, len(sources)))
    keys = np.ravel_multi_index((of_name, of_mode, of_source), shape)
    counts = np.bincount(keys, minlength=1)
    ends = np.cumsum(counts)
    by_key = np.argsort(keys, kind="stable")
    found = []
    for key in np.flatnonzero(counts).tolist():
        is_one = by_key[ends[key] - counts[key] : ends[key]]
        places = np.unravel_index(key, shape)
        name, mode, source = names[places[0]], modes[places[1]], sources[places[2]]
        by = steps if mode == Mode.TRAIN.value else times_ns
        order = is_one[np.lexsort((times_ns[is_one], by[is_one]))]
        rows = (steps[order], times_ns[order], values[order])
        found.append(ScalarRows(name, mode, source, reader.rank, *rows))
    return tuple(sorted(found, key=lambda one: (one.name, one.mode, one.source)))


def _observations(reader: WorkerReader, within: TimeRange) -> dict[str, ObservationRows]:
    table = reader.folder(OBSERVATIONS).rows(within)
    kinds, numbers = texts_of(table["kind"])
    times_ns, steps = to_numpy(table["time_ns"]), to_numpy(table["step"])
    values = to_numpy(table["value"])
    texts = [_texts(table[name]) for name in ("subject", "mode", "detail")]
    order = np.lexsort((times_ns, numbers))
    edges = np.searchsorted(numbers[order], np.arange(len(kinds) + 1))
    found = {}
    for place, kind in enumerate(kinds):
        own = order[edges[place] : edges[place + 1]]
        if len(own):
            columns = (times_ns[own], steps[own], values[own])
            found[kind] = ObservationRows(
                kind, reader.rank, *columns, tuple(one[own] for one in texts)
            )
    return found


def _texts(column: Any) -> npt.NDArray[Any]:
    distinct, numbers = texts_of(column)
    return np.array(distinct or [""], dtype=object)[numbers]
