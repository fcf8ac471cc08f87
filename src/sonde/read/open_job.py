"""One opened job: its facts, its readers by node and rank, and a bounded cache."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar, cast

from sonde.bounded_cache import BoundedCache
from sonde.clock import Clock, SystemClock
from sonde.errors import UsageError
from sonde.read.jobs import JobFacts, read_job
from sonde.read.system import SystemReader
from sonde.read.tensors import Holders, read_infos
from sonde.read.workers import WorkerReader
from sonde.store.backends import Backend

Value = TypeVar("Value")


class OpenJob:
    """An opened job: the only place where its readers are created and cached.

    Not safe to share between threads; the dashboard adds the locks.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Clock | None = None,
        cache: BoundedCache[Any] | None = None,
        facts: JobFacts | None = None,
    ) -> None:
        """Open a job.

        Args:
            backend: Its folder.
            clock: The source of the current time.
            cache: Holds decoded samples, and query results until the next refresh. Several jobs
                may share one. Without it, nothing is kept in memory.
            facts: The facts about the job, if the caller has just read them.
        """
        self.backend = backend
        self.clock = clock or SystemClock()
        self._cache = cache
        self._cached_keys: set[Hashable] = set()
        self._filling_keys: list[Hashable] = []  # of results that callers may still be reading
        self._token = object()  # part of every key: other instances may share the cache
        self._nodes: dict[str, SystemReader] = {}
        self._workers: dict[int, WorkerReader] = {}
        self._tensors: Mapping[str, Holders] | None = None
        self.now_ns = self.clock.now_ns()
        self.facts = read_job(backend, self.now_ns) if facts is None else facts

    @property
    def name(self) -> str:
        """The job's name."""
        return self.facts.name

    @property
    def damages(self) -> list[str]:
        """Damage that the open readers have found."""
        damages = [text for node in self._nodes.values() for text in node.damages]
        return damages + [text for worker in self._workers.values() for text in worker.damages]

    def read_facts(self) -> JobFacts:
        """Reread the facts about the job; samples and rows are not refreshed."""
        self.now_ns = self.clock.now_ns()
        self.facts = read_job(self.backend, self.now_ns)
        return self.facts

    def refresh(self) -> None:
        """Read what a running job has added, and drop cached query results."""
        self.read_facts()
        self.drop_results()
        for node in self._nodes.values():
            node.refresh()
        for worker in self._workers.values():
            worker.refresh(self.facts.lives)

    def node(self, name: str) -> SystemReader:
        """The samples of one node."""
        if name not in self._nodes:
            self._nodes[name] = SystemReader(self.backend, name, self._cache)
        return self._nodes[name]

    def nodes(self, name: str | None = None) -> tuple[SystemReader, ...]:
        """The samples of one node, or of all nodes."""
        names = self.facts.nodes
        if name is not None and name not in names:
            raise UsageError(f"Job {self.name!r} has no node {name!r}. Nodes: {', '.join(names)}")
        return tuple(self.node(each) for each in (names if name is None else (name,)))

    def worker(self, rank: int) -> WorkerReader:
        """The rows of one worker."""
        if rank not in self._workers:
            self._workers[rank] = WorkerReader(self.backend, rank, self.facts.lives)
        return self._workers[rank]

    def workers(self, rank: int | str | None = None) -> tuple[WorkerReader, ...]:
        """The rows of one worker, or of all workers."""
        ranks = self.facts.workers
        if rank is not None and str(rank) not in ranks:
            names = ", ".join(ranks) or "none"
            raise UsageError(f"Job {self.name!r} has no worker {rank}. Workers: {names}")
        return tuple(self.worker(int(each)) for each in (ranks if rank is None else (rank,)))

    def tensors(self) -> Mapping[str, Holders]:
        """The recorded tensors, with the facts of each worker that holds them."""
        if self._tensors is None:
            self._tensors = read_infos(self.workers(), [])
        return self._tensors

    def cached(self, key: Hashable, create: Callable[[], Value]) -> Value:
        """Return a query result, which is cached until the next refresh if there is a cache."""
        if self._cache is None:
            return create()
        self.measure_results()
        full_key = (self._token, key)
        self._cached_keys.add(full_key)
        result = cast("Value", self._cache.get_or_create(full_key, create))
        self._filling_keys.append(full_key)
        return result

    def measure_results(self) -> None:
        """Measure the query results returned last: most read their data on first use."""
        if self._cache is not None:
            for key in self._filling_keys:
                self._cache.measure(key)
        self._filling_keys.clear()

    def drop_results(self) -> None:
        """Drop cached query results."""
        self._tensors = None
        self._filling_keys.clear()
        if self._cache is not None:
            for key in self._cached_keys:
                self._cache.discard(key)
        self._cached_keys.clear()
