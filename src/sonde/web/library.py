"""All jobs of a store; recently used ones stay open."""

from collections.abc import Callable, Mapping
from typing import Any

from sonde.bounded_cache import BoundedCache, byte_cache
from sonde.clock import Clock
from sonde.errors import JobNotFoundError
from sonde.store.backends import open_backend
from sonde.store.places import holds_job, job_uri
from sonde.web.catalog import Catalog
from sonde.web.shared_job import SharedJob

_MAX_OPEN_JOBS = 16
_MAX_CACHED_BYTES = 256 << 20  # half of it: a day and a half of 120 series at 500 ms

# A rule's page by its name; None for an unknown rule. The dashboard may not import the rules.
RulePage = Callable[[str], Mapping[str, Any] | None]


class Library:
    """A store, shared by all threads of the server."""

    def __init__(self, store: str, clock: Clock, rule_page: RulePage = lambda _rule: None) -> None:
        self.rule_page = rule_page
        self.store = store
        self.clock = clock
        self.catalog = Catalog(store, clock)
        self._cache = byte_cache(_MAX_CACHED_BYTES)
        self._jobs: BoundedCache[SharedJob] = BoundedCache(_MAX_OPEN_JOBS)

    def job(self, name: str) -> SharedJob:
        """Open a job by its validated name."""
        job = self._jobs.get(name)
        if job is not None:
            if job.is_same_job:
                return job
            self.forget(name)
        backend = open_backend(job_uri(self.store, name))
        if not holds_job(backend):
            raise JobNotFoundError(f"No job {name!r} in this store.")
        return self._jobs.setdefault(name, SharedJob(backend, self.clock, self._cache))

    def forget(self, name: str) -> None:
        """Drop a job that has been deleted."""
        self._jobs.discard(name)
        self.catalog.forget(name)
