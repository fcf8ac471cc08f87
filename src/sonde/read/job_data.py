"""A job's data for rules: read once, then shared between all rules."""

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sonde.bounded_cache import BoundedCache
from sonde.clock import NANOSECONDS
from sonde.read.attempts import JobAttempt, find_attempts
from sonde.read.open_job import OpenJob
from sonde.read.scalars import Matching, ScalarQuestion, read_scalars
from sonde.read.steps import StepTable, read_steps
from sonde.read.system import SystemReader
from sonde.read.tensors import Holders, TensorRows, joined, read_statistics_by_name
from sonde.read.workers import WorkerReader
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.metric import Series
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.format import OBSERVATIONS
from sonde.store.places import find_job
from sonde.store.rollups import Floats, Instants
from sonde.store.statistics import COLUMNS, HISTOGRAM
from sonde.store.tables import texts_of, to_numpy

Value = TypeVar("Value")

# Statistics are large: only this many steps of them are held at a time.
BLOCK_STEPS = 2048
_MAX_BLOCKS = 6
_MAX_WINDOWS = 12  # cached windows: rules request the same ones in turn
_MARGIN_NS = NANOSECONDS
_MIN_SECONDS = 8  # read at least this far back


@dataclass(frozen=True)
class ScalarRows:
    """One scalar of one worker in one mode: ordered by step in training, else by time."""

    name: str
    mode: str
    source: str
    worker: int
    steps: IntArray
    times_ns: IntArray
    values: FloatArray

    def take(self, which: slice | npt.NDArray[Any]) -> "ScalarRows":
        """A subset of the rows."""
        rows = (self.steps[which], self.times_ns[which], self.values[which])
        return ScalarRows(self.name, self.mode, self.source, self.worker, *rows)


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation of the hook."""

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
        """The detail as parsed JSON; empty if it is not a JSON object."""
        try:
            facts = json.loads(self.detail)
        except ValueError:
            return {}
        return facts if isinstance(facts, dict) else {}


@dataclass(frozen=True)
class ObservationRows:
    """All observations of one kind and one worker, in order of time."""

    kind: str
    worker: int
    times_ns: IntArray
    steps: IntArray
    values: FloatArray
    texts: tuple[npt.NDArray[Any], ...]  # subjects, modes, details

    def take(self, which: slice) -> Iterator[Observation]:
        """A subset of the observations."""
        subjects, modes, details = (column[which].tolist() for column in self.texts)
        numbers = (self.times_ns[which], self.steps[which], self.values[which])
        times_ns, steps, values = (column.tolist() for column in numbers)
        for row in zip(subjects, times_ns, steps, modes, values, details, strict=True):
            subject, *rest = row
            yield Observation(self.kind, subject, self.worker, *rest)


@dataclass(frozen=True)
class _Block:
    """Statistics of a block of steps, by tensor."""

    # tensors grouped by the steps at which they were recorded: usually one group
    groups: Sequence[tuple[IntArray, Mapping[str, TensorRows]]]

    # windows of different widths often hold the same rows
    windows: BoundedCache[Mapping[str, TensorRows]] = field(
        default_factory=lambda: BoundedCache(_MAX_WINDOWS)
    )

    def between(self, start: int, end: int) -> Iterator[Mapping[str, TensorRows]]:
        """The statistics of a range of steps, group by group."""
        for index, (steps, tensors) in enumerate(self.groups):
            first, last = steps.searchsorted((start, end)).tolist()
            if first < last:
                yield self._rows_between((index, first, last), tensors)

    def _rows_between(
        self, key: tuple[int, int, int], tensors: Mapping[str, TensorRows]
    ) -> Mapping[str, TensorRows]:
        which = slice(*key[1:])
        return self.windows.get_or_create(
            key, lambda: {name: rows.take(which) for name, rows in tensors.items()}
        )


class JobData:
    """All data of a job that rules may request, read lazily.

    Rows read since a refresh are unbounded: all rules read them in turn, thousands of times, and a
    bound of 75% of what they need would reread them 12,000 times, for twice the CPU time.
    """

    def __init__(self, opened: OpenJob) -> None:
        self.clock = opened.clock
        self._opened = opened
        self._since_ns: int | None = None
        self._cache: dict[tuple[object, ...], Any] = {}
        self._other_jobs: dict[str, JobData] = {}
        self._views: dict[int, JobData] = {}
        self._use_facts(None)

    def refresh(self, since_ns: int | None = None) -> None:
        """Read what a running job has added; data before `since_ns` is no longer needed."""
        self._opened.refresh()
        for job in self._other_jobs.values():
            job.refresh()
        self._use_facts(since_ns)

    def _use_facts(self, since_ns: int | None) -> None:
        self.facts, self._now_ns = self._opened.facts, self._opened.now_ns
        self.attempts = find_attempts(self.facts, self._now_ns)
        self._recent_ns = since_ns
        self._views.clear()
        self.limit_to(self._reading_start(since_ns))

    @property
    def since_ns(self) -> int | None:
        """Data before this instant is not returned; None means no limit."""
        return self._since_ns

    def extend_back(self, since_ns: int | None) -> None:
        """Extend the data back to an earlier instant; None means no limit."""
        if self._since_ns is not None and (since_ns is None or since_ns < self._since_ns):
            self._views[self._since_ns] = copy(self)
            self.limit_to(self._reading_start(since_ns))

    def limit_to(self, since_ns: int | None) -> None:
        """Limit the data to that since an instant, and drop cached data."""
        self._since_ns = since_ns
        self._cache = {}
        ranks = max((len(attempt.ranks) for attempt in self.attempts), default=0) or 1
        self._blocks: BoundedCache[_Block] = BoundedCache(_MAX_BLOCKS * ranks)
        self._windows: BoundedCache[Mapping[str, TensorRows]] = BoundedCache(_MAX_WINDOWS * ranks)

    def view_since(self, start_ns: int | None) -> "JobData":
        """A view of the job that reads little more than the data since an instant."""
        since_ns = None if self._since_ns is None else self._reading_start(start_ns)
        if self._since_ns is None or since_ns is None or since_ns <= self._since_ns:
            return self
        if since_ns not in self._views:
            self._views[since_ns] = copy(self)
            self._views[since_ns].limit_to(since_ns)
        return self._views[since_ns]

    @property
    def recent(self) -> "JobData":
        """A view of the job with the data since the last refresh."""
        return self.view_since(self._recent_ns)

    def worker(self, rank: int) -> WorkerReader:
        """The rows of one worker."""
        return self._opened.worker(rank)

    def node(self, name: str) -> SystemReader:
        """The samples of one node."""
        return self._opened.node(name)

    def steps(self, attempt: JobAttempt, rank: int, mode: str) -> StepTable:
        """The finished steps of a worker in one attempt."""
        key = ("steps", attempt.number, rank, mode)
        within = self._within(attempt)
        return self._cached(key, lambda: read_steps(self.worker(rank), mode, within=within))

    def ends(self, attempt: JobAttempt, rank: int, mode: str) -> IntArray:
        """When the finished steps of a worker in one attempt ended."""
        key = ("ends", attempt.number, rank, mode)
        return self._cached(key, lambda: self.steps(attempt, rank, mode).ends_ns)

    def scalars(self, attempt: JobAttempt, rank: int) -> tuple[ScalarRows, ...]:
        """All scalars of a worker in one attempt."""
        key = ("scalars", attempt.number, rank)
        return self._cached(key, lambda: _scalars(self.worker(rank), self._within(attempt)))

    def scalars_named(
        self, attempt: JobAttempt, rank: int, mode: str, names: Container[str]
    ) -> tuple[ScalarRows, ...]:
        """The scalars of one mode whose names are in `names`."""

        def select() -> tuple[ScalarRows, ...]:
            rows = self.scalars(attempt, rank)
            return tuple(scalar for scalar in rows if scalar.mode == mode and scalar.name in names)

        return self._cached(("scalars called", attempt.number, rank, mode, names), select)

    def samples(
        self, attempt: JobAttempt, node: str, metric: str
    ) -> tuple[tuple[Series, ...], Instants, Floats]:
        """All samples of a metric of a node in one attempt."""

        def read() -> tuple[tuple[Series, ...], Instants, Floats]:
            series = self.node(node).series(metric)
            return (series, *self.node(node).samples(series, self._within(attempt)))

        return self._cached(("samples", attempt.number, node, metric), read)

    def observations(self, attempt: JobAttempt, rank: int) -> Mapping[str, ObservationRows]:
        """The observations of a worker's hook in one attempt, by kind."""
        key = ("observations", attempt.number, rank)
        return self._cached(key, lambda: _observations(self.worker(rank), self._within(attempt)))

    def matching_observations(
        self, attempt: JobAttempt, rank: int, kind: str
    ) -> tuple[ObservationRows, ...]:
        """The observations whose kind matches a pattern."""

        def select() -> tuple[ObservationRows, ...]:
            rows_of, matches = self.observations(attempt, rank), Matching(kind)
            return tuple(rows for name, rows in rows_of.items() if name in matches)

        return self._cached(("observed", attempt.number, rank, kind), select)

    def infos(self) -> Mapping[str, Holders]:
        """Facts about each tensor."""
        return self._opened.tensors()

    def members(self, collection: str) -> Mapping[str, TensorInfo]:
        """The tensors of a collection with their facts; `all` includes every tensor."""

        def read() -> Mapping[str, TensorInfo]:
            infos = {name: holders[min(holders)] for name, holders in self.infos().items()}
            return {
                name: info
                for name, info in infos.items()
                if collection == "all" or collection in info.collections
            }

        return self._cached(("members", collection), read)

    def statistics(
        self,
        attempt: JobAttempt,
        rank: int,
        mode: str,
        within: StepRange,
        *,
        with_histogram: bool = False,
    ) -> Mapping[str, TensorRows]:
        """The statistics of a range of steps of a worker, by tensor."""
        start, end = within.start or 0, within.end or 0

        def read() -> Mapping[str, TensorRows]:
            blocks: list[Mapping[str, TensorRows]] = []
            for number in range(start // BLOCK_STEPS, (end - 1) // BLOCK_STEPS + 1):
                block = self._block(attempt, rank, mode, number, with_histogram=with_histogram)
                blocks += block.between(start, end)
            return blocks[0] if len(blocks) == 1 else _concatenated(blocks)

        return self._windows.get_or_create(
            (attempt.number, rank, mode, start, end, with_histogram), read
        )

    def other_job(self, job: str) -> "JobData":
        """Another job, by its name in the same store or by its URI."""
        if job not in self._other_jobs:
            store = self._opened.backend.uri.rstrip("/").rpartition("/")[0]
            self._other_jobs[job] = JobData(OpenJob(find_job(job, store), self.clock))
        return self._other_jobs[job]

    def _block(
        self, attempt: JobAttempt, rank: int, mode: str, number: int, *, with_histogram: bool
    ) -> "_Block":

        def read() -> _Block:
            steps = StepRange(number * BLOCK_STEPS, (number + 1) * BLOCK_STEPS)
            columns = (*COLUMNS, HISTOGRAM) if with_histogram else COLUMNS
            rows = read_statistics_by_name(
                self.worker(rank), mode, (steps, self._within(attempt)), columns
            )
            groups: dict[bytes, tuple[IntArray, dict[str, TensorRows]]] = {}
            for name, tensor in rows.items():
                groups.setdefault(tensor.steps.tobytes(), (tensor.steps, {}))[1][name] = tensor
            return _Block(tuple(groups.values()))

        return self._blocks.get_or_create(
            (attempt.number, rank, mode, number, with_histogram), read
        )

    def _reading_start(self, start_ns: int | None) -> int | None:
        """Where reading starts: rounded to a power of two, so that cached data can be shared."""
        if start_ns is None:
            return None
        seconds = _MIN_SECONDS
        while start_ns < self._now_ns - seconds * NANOSECONDS:
            seconds *= 2
        return self._now_ns - seconds * NANOSECONDS

    def _within(self, attempt: JobAttempt) -> TimeRange:
        if self._since_ns is None:
            return attempt.within
        return TimeRange(max(attempt.start_ns, self._since_ns - _MARGIN_NS), attempt.end_ns)

    def _cached(self, key: tuple[object, ...], read: Callable[[], Value]) -> Value:
        if key not in self._cache:
            self._cache[key] = read()
        return cast("Value", self._cache[key])


def _concatenated(blocks: Sequence[Mapping[str, TensorRows]]) -> dict[str, TensorRows]:
    """Concatenate the rows of each tensor."""
    by_name: dict[str, list[TensorRows]] = {}
    for block in blocks:
        for name, rows in block.items():
            by_name.setdefault(name, []).append(rows)
    return {name: joined(rows) for name, rows in by_name.items()}


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
    scalars = []
    for key in np.flatnonzero(counts).tolist():
        positions = by_key[ends[key] - counts[key] : ends[key]]
        indices = np.unravel_index(key, shape)
        name, mode, source = names[indices[0]], modes[indices[1]], sources[indices[2]]
        by = steps if mode == Mode.TRAIN.value else times_ns
        order = positions[np.lexsort((times_ns[positions], by[positions]))]
        rows = (steps[order], times_ns[order], values[order])
        scalars.append(ScalarRows(name, mode, source, reader.rank, *rows))
    return tuple(sorted(scalars, key=lambda scalar: (scalar.name, scalar.mode, scalar.source)))


def _observations(reader: WorkerReader, within: TimeRange) -> dict[str, ObservationRows]:
    table = reader.folder(OBSERVATIONS).rows(within)
    kinds, numbers = texts_of(table["kind"])
    times_ns, steps = to_numpy(table["time_ns"]), to_numpy(table["step"])
    values = to_numpy(table["value"])
    texts = [_texts(table[name]) for name in ("subject", "mode", "detail")]
    order = np.lexsort((times_ns, numbers))
    edges = np.searchsorted(numbers[order], np.arange(len(kinds) + 1))
    by_kind = {}
    for index, kind in enumerate(kinds):
        rows = order[edges[index] : edges[index + 1]]
        if len(rows):
            columns = (times_ns[rows], steps[rows], values[rows])
            by_kind[kind] = ObservationRows(
                kind, reader.rank, *columns, tuple(column[rows] for column in texts)
            )
    return by_kind


def _texts(column: Any) -> npt.NDArray[Any]:
    distinct, numbers = texts_of(column)
    return np.array(distinct or [""], dtype=object)[numbers]
