"""The list of jobs in a store, read page by page; jobs that have ended are read once."""

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.read.opening import BROKEN, MAX_READ_SECONDS, read_in_time
from sonde.records.finding import Severity
from sonde.records.job_summary import JobSummary, ListedJob, Outcome
from sonde.results.job_query import parse_query
from sonde.results.job_summary import read_listed_job, recorded_job
from sonde.results.previous_run import PreviousRuns
from sonde.results.verdict import outcome_sentence
from sonde.store import layout
from sonde.store.backends import open_backend
from sonde.store.places import holds_job, job_uri
from sonde.web.error_texts import without_paths

_FRESH_SECONDS = 1.0
_FRESH_SECONDS_WHEN_OVER = 10.0  # a job that has ended may be resumed or checked again
_OLDEST_SECONDS = 600.0  # jobs used only for searching and sorting
_THREADS = 8
_READ_AHEAD_BATCH = 20
_SEARCH_BATCH = 32
_SEARCH_SECONDS = 0.4  # then a search returns what has been read so far
_RECORDED_SECONDS = 2.0  # the same for recorded summaries, of which it reads thousands
_RUNNING = ("running", "starting")

Row = dict[str, Any]


@dataclass(frozen=True)
class _CachedJob:
    """A job, and when it was read."""

    job: ListedJob
    seconds: float

    @property
    def is_over(self) -> bool:
        """Whether it can change only by a new attempt, a check or a note."""
        return self.job.summary.outcome.state not in _RUNNING

    @property
    def is_complete(self) -> bool:
        """Whether metrics and the curve were read, which takes longest."""
        return self.job.summary.is_complete


class Catalog:
    """All jobs of a store, shared by all threads of the server."""

    def __init__(self, store: str, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._names: tuple[str, ...] = ()
        self._due = -1.0
        self._created_ns: dict[str, int] = {}
        self._cached: dict[str, _CachedJob] = {}
        self._missing: set[str] = set()  # listed, but without anything to read

    def find(self, search: str, state: str, sort: str) -> list[str]:
        """The names of the matching jobs, in order.

        Raises:
            UsageError: The search is an invalid query.
        """
        query = parse_query(search)
        names = list(self._job_names())
        key = sort.removeprefix("-")
        if query.terms or state or key in _SORTED_BY:
            jobs = self._search_jobs(names)
            names = [
                name for name, job in jobs.items() if query.matches(job) and _has_state(job, state)
            ]
            if key in _SORTED_BY:
                names.sort(key=lambda name: (_SORTED_BY[key](jobs[name]), name))
        if key == "start":
            created = self._created_ns
            names.sort(key=lambda name: (created.get(name, 0), name))
        return names[::-1] if sort.startswith("-") else names

    def rows(self, names: Sequence[str]) -> list[Row]:
        """The rows of some jobs; jobs deleted in the meantime are omitted."""
        jobs = self._read(names, is_complete=True)
        with self._lock:
            runs = PreviousRuns([cached.job for cached in self._cached.values()])
        return [_row(job, runs) for job in jobs]

    @property
    def unread(self) -> int:
        """The number of jobs not read yet; a search matches those by name only."""
        with self._lock:
            return sum(
                name not in self._cached and name not in self._missing for name in self._names
            )

    def read_ahead(self) -> None:
        """Read all jobs, newest first, so that searches are fast.

        Run this in a background thread; it uses up to a third of a core.
        """
        names, never_set = self.find("", "", "-start"), threading.Event()
        for start in range(0, len(names), _READ_AHEAD_BATCH):
            began = self._clock.seconds()
            self._read(names[start : start + _READ_AHEAD_BATCH], is_complete=True)
            self._clock.wait(never_set, 2 * (self._clock.seconds() - began))

    def _search_jobs(self, names: Sequence[str]) -> dict[str, ListedJob]:
        """Some jobs; those not read within a time limit are placeholders."""
        began, created = self._clock.seconds(), self._created_ns
        with self._lock:
            stale = [name for name in names if not self._is_fresh(name, began, is_complete=False)]
            # jobs read before first: they may have changed; then the newest jobs
            stale.sort(key=lambda name: (name not in self._cached, -created.get(name, 0)))
        stale = self._without_recorded(stale, began + _RECORDED_SECONDS)
        began = self._clock.seconds()
        for start in range(0, len(stale), _SEARCH_BATCH):
            if self._clock.seconds() > began + _SEARCH_SECONDS:
                break
            self._read(stale[start : start + _SEARCH_BATCH], is_complete=False)
        with self._lock:
            cached = {name: self._cached[name].job for name in names if name in self._cached}
            present = [name for name in names if name in cached or name not in self._missing]
        return {name: cached.get(name) or _unread(name) for name in present}

    def read_again(self, name: str) -> None:
        """Read a job again with the next request: it has been annotated."""
        with self._lock:
            self._cached.pop(name, None)

    def forget(self, name: str) -> None:
        """Drop a job that has been deleted."""
        with self._lock:
            self._due = -1.0
        self.read_again(name)

    def _job_names(self) -> tuple[str, ...]:
        with self._lock:
            began = self._clock.seconds()
            if began >= self._due:
                self._list_jobs()
                now = self._clock.seconds()
                self._due = now + max(_FRESH_SECONDS, 10 * (now - began))
            return self._names

    def _list_jobs(self) -> None:
        """List the folders of the store that are jobs; each creation time is read once."""
        backend = open_backend(self._store)
        folders = [name for name in backend.folders("") if not name.startswith(".")]
        new = [name for name in folders if name not in self._created_ns]
        with ThreadPoolExecutor(_THREADS) as pool:
            creation_times = zip(new, pool.map(partial(_created_ns, self._store), new), strict=True)
            created = self._created_ns | {
                name: instant for name, instant in creation_times if instant is not None
            }
        self._names = tuple(name for name in folders if name in created)
        self._created_ns = {name: created[name] for name in self._names}
        self._cached = {name: row for name, row in self._cached.items() if name in created}

    def _read(self, names: Sequence[str], *, is_complete: bool) -> list[ListedJob]:
        now = self._clock.seconds()
        with self._lock:
            stale = [
                name for name in names if not self._is_fresh(name, now, is_complete=is_complete)
            ]
        recorded = [self._recorded(name) for name in stale]
        unrecorded = [name for name, job in zip(stale, recorded, strict=True) if job is None]
        read = partial(self._read_job, is_complete=is_complete)
        if len(unrecorded) > 1:
            with ThreadPoolExecutor(_THREADS) as pool:
                jobs = list(pool.map(read, unrecorded))
        else:
            jobs = [read(name) for name in unrecorded]
        with self._lock:
            cached = [job for job in (*recorded, *jobs) if job is not None]
            self._cached |= {each.job.name: each for each in cached}
            missing = {name for name, job in zip(unrecorded, jobs, strict=True) if job is None}
            self._missing = (self._missing - set(stale)) | missing
            present = [name for name in names if name not in missing]
            return [self._cached[name].job for name in present if name in self._cached]

    def _is_fresh(self, name: str, now: float, *, is_complete: bool) -> bool:
        cached = self._cached.get(name)
        if cached is None or (is_complete and not cached.is_complete):
            return False
        max_age = _FRESH_SECONDS_WHEN_OVER if is_complete else _OLDEST_SECONDS
        return now < cached.seconds + (max_age if cached.is_over else _FRESH_SECONDS)

    def _without_recorded(self, names: Sequence[str], due: float) -> list[str]:
        """Take over recorded summaries until a time is reached; return the remaining names."""
        remaining, cached = [], {}
        for name in names:
            job = self._recorded(name) if self._clock.seconds() < due else None
            if job is None:
                remaining.append(name)
            else:
                cached[name] = job
        with self._lock:
            self._cached |= cached
        return remaining

    def _recorded(self, name: str) -> _CachedJob | None:
        """A job whose summary is recorded; None for all others."""
        try:
            job = recorded_job(open_backend(job_uri(self._store, name)), name)
        except StoreError:  # reading the job reports the reason
            return None
        return None if job is None else _CachedJob(job, self._clock.seconds())

    def _read_job(self, name: str, *, is_complete: bool) -> _CachedJob | None:
        now_ns = self._clock.now_ns()
        backend = open_backend(job_uri(self._store, name))
        try:
            jobs = read_in_time(
                backend,
                lambda: read_listed_job(backend, name, now_ns, is_complete=is_complete),
                MAX_READ_SECONDS,
            )
        except StoreError as error:  # one broken job must not hide the others
            outcome = Outcome(BROKEN, reason=without_paths(str(error), self._store))
            jobs = (ListedJob(name, JobSummary(outcome, is_complete=True)),)
        return _CachedJob(jobs[0], self._clock.seconds()) if jobs else None


def _created_ns(store: str, name: str) -> int | None:
    """When a job was created, without checking the checksum; None if the folder is not a job."""
    backend = open_backend(job_uri(store, name))
    try:
        document = json.loads(backend.read(layout.JOB))
        return int(document["created_ns"])
    except KeyMissingError:
        return 0 if holds_job(backend) else None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, StoreError):
        return 0


def _unread(name: str) -> ListedJob:
    """A job that has not been read yet."""
    return ListedJob(name, JobSummary(Outcome("")))


def _severity(job: ListedJob) -> tuple[int, ...]:
    return tuple(job.summary.findings.get(severity.value, 0) for severity in reversed(Severity))


_SORTED_BY: dict[str, Callable[[ListedJob], Any]] = {
    "state": lambda job: job.summary.outcome.state,
    "duration": lambda job: job.summary.outcome.seconds or 0.0,
    "findings": _severity,
}


def _has_state(job: ListedJob, state: str) -> bool:
    if state == "over":
        return job.summary.outcome.state not in ("", *_RUNNING)
    return state in ("", job.summary.outcome.state)


def _row(job: ListedJob, runs: PreviousRuns) -> Row:
    summary, outcome, annotations = job.summary, job.summary.outcome, job.annotations
    sentence = outcome_sentence(job.name, outcome.state, outcome.seconds, outcome.reason)
    change = runs.change_of(job)
    return {
        "name": job.name,
        "state": outcome.state,
        "start_time": outcome.start_time,
        "end_time": outcome.end_time,
        "duration_seconds": outcome.seconds,
        "verdict": outcome.reason if outcome.state == BROKEN else sentence,
        "finding": summary.verdict,
        "worst": next(iter(summary.findings), None),
        "findings": dict(summary.findings),
        "steps": dict(summary.steps),
        "nodes": len(summary.launch.nodes),
        "workers": summary.launch.workers,
        "spark": _spark(summary),
        "tags": list(annotations.tags),
        "group": annotations.group,
        "note": annotations.note,
        "change": change.text if change else None,
    }


def _spark(summary: JobSummary) -> dict[str, Any] | None:
    spark = summary.spark
    return {"label": spark.label, "values": list(spark.values)} if spark else None
