"""Job: the handle everything hangs from."""

import logging
from datetime import UTC, datetime
from typing import Any

from sonde.client.system import SystemMetrics
from sonde.clock import NANOSECONDS, Clock, SystemClock, from_iso
from sonde.errors import FormatTooNewError, UsageError
from sonde.read.jobs import JobFacts, list_job_names, read_job
from sonde.read.status import status_document
from sonde.read.system import SystemReader
from sonde.records.job import JobState
from sonde.records.ranges import TimeRange
from sonde.settings import default_store
from sonde.store.backends import Backend, open_backend
from sonde.store.places import find_job, job_uri

log = logging.getLogger("sonde")

Moment = datetime | str | float | int | None


class Job:
    """One training run, live or over, here or in an object store."""

    def __init__(self, backend: Backend, clock: Clock | None = None) -> None:
        self._backend = backend
        self._clock = clock or SystemClock()
        self._readers: dict[str, SystemReader] = {}
        self._facts = read_job(backend, self._clock.now_ns())

    @property
    def name(self) -> str:
        """The job's name."""
        return self._facts.name

    @property
    def state(self) -> JobState:
        """Where it stands, as of the last look."""
        return self._facts.state

    @property
    def facts(self) -> JobFacts:
        """Everything known about its attempts, as records."""
        return self._facts

    @property
    def summary(self) -> dict[str, Any]:
        """The status document: state, exit, times, nodes, cost, what was lost.

        Damage to samples is in it once they have been read.
        """
        damages = [text for reader in self._readers.values() for text in reader.damages]
        return status_document(self._facts, self._clock.now_ns(), damages)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes it runs or ran on."""
        return self._facts.nodes

    @property
    def workers(self) -> tuple[str, ...]:
        """The ranks of its training processes."""
        return self._facts.workers

    def refresh(self) -> "Job":
        """Looks again at a job that still grows."""
        self._facts = read_job(self._backend, self._clock.now_ns())
        for reader in self._readers.values():
            reader.refresh()
        return self

    def system(
        self,
        metric: str = "*",
        *,
        device: str | None = None,
        node: str | None = None,
        start: Moment = None,
        end: Moment = None,
    ) -> SystemMetrics:
        """What the machines did.

        Args:
            metric: A metric's name, or a pattern such as `gpu.*`.
            device: One device, such as `gpu0`; all of them by default.
            node: One node; all of them by default.
            start: A date and time, an ISO text (UTC unless it names its zone), or seconds since
                the job began.
            end: Likewise; not included.
        """
        nodes = self.nodes if node is None else (self._known_node(node),)
        readers = tuple(self._reader(name) for name in nodes)
        within = TimeRange(self._instant(start), self._instant(end))
        return SystemMetrics(readers, metric, device, within)

    def _reader(self, node: str) -> SystemReader:
        if node not in self._readers:
            self._readers[node] = SystemReader(self._backend, node)
        return self._readers[node]

    def _known_node(self, node: str) -> str:
        if node not in self.nodes:
            raise UsageError(
                f"Job {self.name!r} has no node {node!r}. Known: {', '.join(self.nodes)}"
            )
        return node

    def _instant(self, moment: Moment) -> int | None:
        if moment is None:
            return None
        if isinstance(moment, str):
            try:
                return from_iso(moment)
            except ValueError as error:
                raise UsageError(
                    f"{moment!r} is not a time. Write it like 2026-08-01T12:30:00Z, as a datetime, "
                    "or as seconds since the job began."
                ) from error
        if isinstance(moment, datetime):
            return from_iso(moment.astimezone(UTC).isoformat())
        return (self._facts.start_ns or 0) + int(moment * NANOSECONDS)

    def __repr__(self) -> str:
        seconds = self._facts.seconds(self._clock.now_ns())
        duration = "" if seconds is None else f", {seconds:.1f} s"
        return f"<Job {self.name}: {self.state.value}{duration}, nodes: {', '.join(self.nodes)}>"


def open_job(job: str, store: str | None = None) -> Job:
    """Opens a job by its name in the store, or by the path or URI of its folder."""
    return Job(find_job(job, store or default_store()))


def list_jobs(store: str | None = None) -> list[Job]:
    """All jobs of a store, the latest last; one of a newer format is left out, with a warning."""
    where = store or default_store()
    jobs = []
    for name in list_job_names(where):
        try:
            jobs.append(Job(open_backend(job_uri(where, name))))
        except FormatTooNewError as error:
            log.warning("%s", error)
    return sorted(jobs, key=lambda job: job.facts.start_ns or 0)
