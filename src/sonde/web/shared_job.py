"""A job shared by all threads of the server, refreshed when it may have grown."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from sonde.bounded_cache import BoundedCache
from sonde.clock import Clock
from sonde.read.findings import EpisodesReader
from sonde.read.inventory import check_files
from sonde.read.jobs import JobFacts
from sonde.read.open_job import OpenJob
from sonde.read.sampling import read_sampling
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.job import JobState
from sonde.records.ranges import TimeRange
from sonde.results.job import JobResults
from sonde.settings.run import DEFAULT_INTERVAL_SECONDS
from sonde.store.backends import Backend
from sonde.web.interval_log import IntervalLog
from sonde.web.intervals import Intervals, Lane
from sonde.web.lane_index import LaneIndex

_FRESH_SECONDS = 0.5  # facts read more recently than this are not read again
_FRESH_SECONDS_WHEN_OVER = 5.0  # a job that is over may be resumed
_MAX_SHARE = 0.2  # of the time is spent rereading facts or recomputing a result
_MAX_SHARE_WHEN_OVER = 0.01
_MAX_NODES = 8  # checked for the newest sample: all nodes use the same interval

Value = TypeVar("Value")


class _Locked(Generic[Value]):
    """A reader or result that one thread at a time uses, refreshed when the job has grown."""

    def __init__(
        self,
        value: Value,
        refresh: Callable[[], object],
        revision: object,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        self._lock = threading.RLock()
        self._value = value
        self._refresh = refresh
        self._revision = revision
        self._release = release

    @contextmanager
    def use(self, revision: object) -> Iterator[Value]:
        """The value for this thread alone, as of a revision of the job."""
        with self._lock:
            if revision != self._revision:
                self._refresh()
                self._revision = revision
            try:
                yield self._value
            finally:
                self._release()


class _CachedResult(NamedTuple):
    """An expensive result and when it expires."""

    version: object
    until: float
    value: Any


class SharedJob:
    """One job, shared by all threads of the server."""

    def __init__(self, backend: Backend, clock: Clock, cache: BoundedCache[Any]) -> None:
        self.backend = backend
        self.clock = clock
        self._cache = cache
        self._opened = OpenJob(backend, clock, cache)
        self._lock = threading.RLock()
        self._nodes: dict[str, _Locked[SystemReader]] = {}
        self._workers: dict[int, _Locked[WorkerReader]] = {}
        self._logs: dict[int, IntervalLog] = {}
        self._results: _Locked[JobResults] | None = None
        self._episodes: _Locked[EpisodesReader] | None = None
        self._version: tuple[object, ...] = ()
        self._token = object()  # part of every key: all jobs of the server share the cache
        self._record_version(began=clock.seconds())
        self._info = self._opened.facts.info

    @property
    def is_same_job(self) -> bool:
        """Whether the job still exists; a new job with the same name is a different job."""
        return self.facts.info == self._info

    @property
    def name(self) -> str:
        """The job's name in the store."""
        return self._opened.name

    @property
    def facts(self) -> JobFacts:
        """The facts of the job, up to half a second old while it runs."""
        with self._lock:
            began = self.clock.seconds()
            if began >= self._due:
                self._opened.read_facts()
                self._record_version(began)
            return self._opened.facts

    @property
    def extent(self) -> TimeRange:
        """From the job's start to its end, or to now."""
        facts, now_ns = self.facts, self.clock.now_ns()
        start_ns, end_ns = facts.start_ns or 0, facts.end_ns or now_ns
        if facts.state is JobState.LOST:  # it went on after its last heartbeat
            end_ns = max(end_ns, self.newest_ns)
        return TimeRange(start_ns, max(start_ns + 1, end_ns))

    @property
    def sampling_interval_seconds(self) -> float:
        """How often the machines are sampled; the default interval if none is recorded."""
        return read_sampling(self.facts).interval_seconds or DEFAULT_INTERVAL_SECONDS

    @property
    def newest_ns(self) -> int:
        """The instant of the newest sample; 0 if there is none."""
        newest = 0
        for name in self.facts.nodes[:_MAX_NODES]:
            with self.node(name) as reader:
                newest = max(newest, reader.extent.last_ns if reader.extent else 0)
        return newest

    @property
    def revision(self) -> tuple[object, ...]:
        """A value that changes when the job may have grown; constant once the job is over."""
        facts = self.facts
        moment = None if facts.state.is_over else self.clock.seconds() // _FRESH_SECONDS
        return (*self._version, moment)

    @contextmanager
    def node(self, name: str) -> Iterator[SystemReader]:
        """The samples of one node, for this thread alone."""
        revision = self.revision
        with self._lock:
            if name not in self._nodes:
                reader = self._opened.node(name)
                self._nodes[name] = _Locked(reader, reader.refresh, revision)
        with self._nodes[name].use(revision) as reader:
            yield reader

    @contextmanager
    def worker(self, rank: int) -> Iterator[WorkerReader]:
        """The rows of one worker, for this thread alone."""
        revision = self.revision
        with self._lock:
            if rank not in self._workers:
                reader = self._opened.worker(rank)
                self._workers[rank] = _Locked(reader, self._refresher(reader), revision)
        with self._workers[rank].use(revision) as reader:
            yield reader

    @contextmanager
    def workers(self, ranks: Sequence[int]) -> Iterator[tuple[WorkerReader, ...]]:
        """Several workers; always locked in the same order, so that threads cannot deadlock."""
        with ExitStack() as stack:
            readers = {rank: stack.enter_context(self.worker(rank)) for rank in sorted(set(ranks))}
            yield tuple(readers[rank] for rank in ranks)

    def intervals(self, rank: int) -> Intervals:
        """All events of one worker's training thread."""
        with self._log(rank) as log:
            return log.read()

    def lanes(self, rank: int) -> dict[Lane, LaneIndex]:
        """All events of one worker's training thread as one index per lane."""
        with self._log(rank) as log:
            return log.indices()

    @contextmanager
    def _log(self, rank: int) -> Iterator[IntervalLog]:
        with self.worker(rank) as reader:
            if rank not in self._logs:
                self._logs[rank] = IntervalLog(reader)
            yield self._logs[rank]

    def cached(self, key: object, seconds: float, create: Callable[[], Value]) -> Value:
        """An expensive result, computed once; for a running job recomputed after some seconds.

        Results that take long to compute are cached for longer. Two threads that request a result
        at once both compute it: that costs less than waiting.
        """
        facts, began = self.facts, self.clock.seconds()
        version, full_key = self._version, (self._token, key)
        result: _CachedResult | None = self._cache.get(full_key)
        if result and result.version == version and (facts.state.is_over or began < result.until):
            value: Value = result.value
            return value
        value = create()
        now = self.clock.seconds()
        until = now + max(seconds, (now - began) / _MAX_SHARE)
        self._cache.put(full_key, _CachedResult(version, until, value))
        return value

    @contextmanager
    def results(self) -> Iterator[JobResults]:
        """The queries of the job, for this thread alone; they may be held for seconds.

        They use separate readers, so that requests for samples do not wait for them.
        """
        revision = self.revision
        with self._lock:
            if self._results is None:
                opened = OpenJob(self.backend, self.clock, self._cache)
                results = JobResults(opened)
                measure = opened.measure_results
                self._results = _Locked(results, results.refresh, revision, measure)
        with self._results.use(revision) as results:
            yield results

    @contextmanager
    def episodes(self) -> Iterator[EpisodesReader]:
        """The findings of rules, for this thread alone."""
        with self._lock:
            if self._episodes is None:
                self._episodes = _Locked(EpisodesReader(self.backend), lambda: None, None)
        with self._episodes.use(None) as reader:
            yield reader

    def _record_version(self, began: float) -> None:
        """Record the version of the facts just read, and when to read them again."""
        facts = self._opened.facts
        version = (facts.state, facts.end_ns, len(facts.attempts))
        if facts.state.is_over and version != self._version:
            check_files(self.backend, facts)
        self._version = version
        now = self.clock.seconds()
        fresh_seconds, share = _FRESH_SECONDS, _MAX_SHARE
        if facts.state.is_over:
            fresh_seconds, share = _FRESH_SECONDS_WHEN_OVER, _MAX_SHARE_WHEN_OVER
        self._due = now + max(fresh_seconds, (now - began) / share)

    def _refresher(self, reader: WorkerReader) -> Callable[[], None]:
        return lambda: reader.refresh(self.facts.lives)
