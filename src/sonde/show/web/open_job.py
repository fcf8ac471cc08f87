"""A job that several browsers look at: read once, looked at again when it may have grown."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Generic, Protocol, TypeVar, cast

from sonde.clock import Clock
from sonde.read.findings import EpisodesReader
from sonde.read.inventory import check_files
from sonde.read.jobs import JobFacts, read_job
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.job import JobState
from sonde.records.ranges import TimeRange
from sonde.show.job_view import JobView
from sonde.show.web.lane_index import LaneIndex
from sonde.show.web.stretch_log import StretchLog
from sonde.show.web.stretches import Lane, Stretches
from sonde.store.backends import Backend
from sonde.store.decoded import Decoded

_FRESH_SECONDS = 0.5  # what was read so recently is not looked at again
_FRESH_SECONDS_WHEN_OVER = 5.0  # it may be continued
_MOST_SHARE = 0.2  # of the time may go into looking at what a job says of itself
_MOST_SHARE_WHEN_OVER = 0.01
_MOST_REMEMBERED = 256
_MOST_NODES = 8  # whose newest sample is looked for: nodes of a job are sampled alike

Part = TypeVar("Part")


class View(JobView, Protocol):
    """A job with its analyses, that can look again."""

    def refresh(self) -> object:
        """Looks for what has grown since."""


ViewMaker = Callable[[Backend], View]


class _Shared(Generic[Part]):
    """One reader: one thread at a time uses it, and it looks again when that is due."""

    def __init__(self, part: Part, refresh: Callable[[], object], mark: object) -> None:
        self.lock = threading.RLock()
        self.part = part
        self._refresh = refresh
        self._mark = mark

    def renew(self, mark: object) -> None:
        """Looks again if the job has moved on since."""
        if mark != self._mark:
            self._refresh()
            self._mark = mark


class OpenJob:
    """One job, for all threads of the server."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        make_view: ViewMaker,
        samples: Decoded | None = None,
    ) -> None:
        self.backend = backend
        self.clock = clock
        self._make_view = make_view
        self._samples = samples
        self._lock = threading.RLock()
        self._nodes: dict[str, _Shared[SystemReader]] = {}
        self._workers: dict[int, _Shared[WorkerReader]] = {}
        self._logs: dict[int, StretchLog] = {}
        self._memory: dict[object, tuple[object, float, object]] = {}
        self._view: _Shared[View] | None = None
        self._episodes: _Shared[EpisodesReader] | None = None
        self._standing: tuple[object, ...] = ()
        self._look()
        self._info = self._facts.info

    @property
    def is_the_same(self) -> bool:
        """Whether it is still there: one of its name that was begun anew is another job."""
        return self.facts.info == self._info

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._facts.name

    @property
    def facts(self) -> JobFacts:
        """What is known of it, as of a moment ago."""
        with self._lock:
            if self.clock.seconds() >= self._due:
                self._look()
            return self._facts

    @property
    def extent(self) -> TimeRange:
        """From its start to its end, or to now."""
        facts, now_ns = self.facts, self.clock.now_ns()
        start_ns, end_ns = facts.start_ns or 0, facts.end_ns or now_ns
        if facts.state is JobState.LOST:  # it went on after its last sign of life
            end_ns = max(end_ns, self.newest_ns)
        return TimeRange(start_ns, max(start_ns + 1, end_ns))

    @property
    def newest_ns(self) -> int:
        """The instant of the newest sample; 0 where there is none."""
        newest = 0
        for name in self.facts.nodes[:_MOST_NODES]:
            with self.node(name) as reader:
                newest = max(newest, reader.extent.last_ns if reader.extent else 0)
        return newest

    @property
    def mark(self) -> tuple[object, ...]:
        """The same as long as nothing has come since: of a job that is over, for ever."""
        facts = self.facts
        moment = None if facts.state.is_over else self.clock.seconds() // _FRESH_SECONDS
        return (*self._standing, moment)

    @contextmanager
    def node(self, name: str) -> Iterator[SystemReader]:
        """The samples of one of its nodes, for this thread alone."""
        mark = self.mark
        with self._lock:
            if name not in self._nodes:
                reader = SystemReader(self.backend, name, self._samples)
                self._nodes[name] = _Shared(reader, reader.refresh, mark)
            shared = self._nodes[name]
        with shared.lock:
            shared.renew(mark)
            yield shared.part

    @contextmanager
    def worker(self, rank: int) -> Iterator[WorkerReader]:
        """The rows of one of its workers, for this thread alone."""
        mark = self.mark
        with self._lock:
            if rank not in self._workers:
                reader = WorkerReader(self.backend, rank, self._facts.lives)
                refresh = _refresher(reader, self)
                self._workers[rank] = _Shared(reader, refresh, mark)
            shared = self._workers[rank]
        with shared.lock:
            shared.renew(mark)
            yield shared.part

    @contextmanager
    def workers(self, ranks: Sequence[int]) -> Iterator[tuple[WorkerReader, ...]]:
        """Several workers; always taken in the same order, so that nobody waits in a circle."""
        with ExitStack() as stack:
            found = {rank: stack.enter_context(self.worker(rank)) for rank in sorted(set(ranks))}
            yield tuple(found[rank] for rank in ranks)

    def stretches(self, rank: int) -> Stretches:
        """All events of one worker's training thread."""
        with self._log(rank) as log:
            return log.read()

    def lanes(self, rank: int) -> dict[Lane, LaneIndex]:
        """The same, each lane ready to be drawn over any window."""
        with self._log(rank) as log:
            return log.indices()

    @contextmanager
    def _log(self, rank: int) -> Iterator[StretchLog]:
        with self.worker(rank) as reader:
            if rank not in self._logs:
                self._logs[rank] = StretchLog(reader)
            yield self._logs[rank]

    def remembered(self, key: object, seconds: float, make: Callable[[], Part]) -> Part:
        """Something that is costly to find out: once, and of a job that runs again after a while.

        What takes long to find out is kept for longer, so that most time is left for the rest.
        Two threads that ask at once both find it out: that costs less than to wait in line.
        """
        facts, began = self.facts, self.clock.seconds()
        mark = self._standing
        with self._lock:
            known = self._memory.get(key)
        if known and known[0] == mark and (facts.state.is_over or began < known[1]):
            return cast("Part", known[2])
        found = make()
        now = self.clock.seconds()
        with self._lock:
            while len(self._memory) >= _MOST_REMEMBERED:
                self._memory.pop(next(iter(self._memory)))
            self._memory[key] = (mark, now + max(seconds, (now - began) / _MOST_SHARE), found)
        return found

    @contextmanager
    def view(self) -> Iterator[View]:
        """The job with its analyses, for this thread alone; it may be held for seconds."""
        mark = self.mark
        with self._lock:
            if self._view is None:
                view = self._make_view(self.backend)
                self._view = _Shared(view, view.refresh, mark)
            shared = self._view
        with shared.lock:
            shared.renew(mark)
            yield shared.part

    @contextmanager
    def episodes(self) -> Iterator[EpisodesReader]:
        """What rules have found, for this thread alone."""
        with self._lock:
            if self._episodes is None:
                reader = EpisodesReader(self.backend)
                self._episodes = _Shared(reader, lambda: None, None)
            shared = self._episodes
        with shared.lock:
            yield shared.part

    def _look(self) -> None:
        began = self.clock.seconds()
        self._facts = read_job(self.backend, self.clock.now_ns())
        facts = self._facts
        standing = (facts.state, facts.end_ns, len(facts.attempts))
        if facts.state.is_over and standing != self._standing:
            check_files(self.backend, facts)
        self._standing = standing
        took = self.clock.seconds() - began
        fresh, share = _FRESH_SECONDS, _MOST_SHARE
        if facts.state.is_over:
            fresh, share = _FRESH_SECONDS_WHEN_OVER, _MOST_SHARE_WHEN_OVER
        self._due = self.clock.seconds() + max(fresh, took / share)


def _refresher(reader: WorkerReader, job: OpenJob) -> Callable[[], None]:
    return lambda: reader.refresh(job.facts.lives)
