"""The list of jobs in a store, read page by page; jobs that have ended are read once."""

import itertools
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.read.findings import read_evaluations
from sonde.read.jobs import JobFacts, has_begun, read_job
from sonde.read.open_job import OpenJob
from sonde.read.opening import BROKEN, MAX_READ_SECONDS, read_guarded, read_in_time
from sonde.read.scalars import Losses, ScalarQuestion, read_scalars
from sonde.read.status import status_document
from sonde.read.training import reported_steps, steps_done
from sonde.read.workers import WorkerReader
from sonde.records.finding import Evaluation, Severity
from sonde.results.rule_standing import severity_counts
from sonde.results.rule_verdict import verdict as judged
from sonde.results.verdict import verdict
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.places import holds_job, job_uri
from sonde.store.tables import texts_of, to_numpy
from sonde.web.error_texts import without_paths

_FRESH_SECONDS = 1.0
_FRESH_SECONDS_WHEN_OVER = 10.0  # a job that has ended may be resumed or checked again
_OLDEST_SECONDS = 600.0  # rows used only for searching and sorting
_THREADS = 8
_READ_AHEAD_BATCH = 20
_SEARCH_BATCH = 32
_SEARCH_SECONDS = 0.4  # then a search returns what has been read so far
_SPARKLINE_POINTS = 60

Row = dict[str, Any]


@dataclass(frozen=True)
class _CachedRow:
    """A row, when it was read, and whether it can still change."""

    row: Row
    is_over: bool
    seconds: float
    has_sparkline: bool  # includes step counts and the sparkline, which take longest to read


class Catalog:
    """All jobs of a store, shared by all threads of the server."""

    def __init__(self, store: str, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._names: tuple[str, ...] = ()
        self._due = -1.0
        self._created_ns: dict[str, int] = {}
        self._cached: dict[str, _CachedRow] = {}
        self._missing: set[str] = set()  # listed, but without anything to read

    def find(self, search: str, state: str, sort: str) -> list[str]:
        """The names of the matching jobs, in order."""
        words = search.lower().split()
        names = list(self._job_names())
        key = sort.removeprefix("-")
        if words or state or key in _SORTED_BY:
            rows = self._search_rows(names)
            names = [name for name in rows if _matches(rows[name], words, state)]
            if key in _SORTED_BY:
                names.sort(key=lambda name: (_SORTED_BY[key](rows[name]), name))
        if key == "start":
            created = self._created_ns
            names.sort(key=lambda name: (created.get(name, 0), name))
        return names[::-1] if sort.startswith("-") else names

    def rows(self, names: Sequence[str]) -> list[Row]:
        """The rows of some jobs; jobs deleted in the meantime are omitted."""
        return self._read(names, has_sparkline=True)

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
            self._read(names[start : start + _READ_AHEAD_BATCH], has_sparkline=False)
            self._clock.wait(never_set, 2 * (self._clock.seconds() - began))

    def _search_rows(self, names: Sequence[str]) -> dict[str, Row]:
        """The rows of some jobs; jobs not read within a time limit have a placeholder."""
        began, created = self._clock.seconds(), self._created_ns
        with self._lock:
            stale = [name for name in names if not self._is_fresh(name, began, has_sparkline=False)]
            # rows read before first: they may have changed; then the newest jobs
            stale.sort(key=lambda name: (name not in self._cached, -created.get(name, 0)))
        for start in range(0, len(stale), _SEARCH_BATCH):
            if self._clock.seconds() > began + _SEARCH_SECONDS:
                break
            self._read(stale[start : start + _SEARCH_BATCH], has_sparkline=False)
        with self._lock:
            cached = {name: self._cached[name].row for name in names if name in self._cached}
            present = [name for name in names if name in cached or name not in self._missing]
        return {name: cached.get(name) or _unread(name) for name in present}

    def forget(self, name: str) -> None:
        """Drop a job that has been deleted."""
        with self._lock:
            self._due = -1.0
            self._cached.pop(name, None)

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

    def _read(self, names: Sequence[str], *, has_sparkline: bool) -> list[Row]:
        now = self._clock.seconds()
        with self._lock:
            stale = [
                name for name in names if not self._is_fresh(name, now, has_sparkline=has_sparkline)
            ]
        read = partial(self._read_job, has_sparkline=has_sparkline)
        if len(stale) > 1:
            with ThreadPoolExecutor(_THREADS) as pool:
                rows = list(pool.map(read, stale))
        else:
            rows = [read(name) for name in stale]
        with self._lock:
            self._cached |= {row.row["name"]: row for row in rows if row is not None}
            missing = {name for name, row in zip(stale, rows, strict=True) if row is None}
            self._missing = (self._missing - set(stale)) | missing
            present = [name for name in names if name not in missing]
            return [self._cached[name].row for name in present if name in self._cached]

    def _is_fresh(self, name: str, now: float, *, has_sparkline: bool) -> bool:
        cached = self._cached.get(name)
        if cached is None or (has_sparkline and not cached.has_sparkline):
            return False
        max_age = _FRESH_SECONDS_WHEN_OVER if has_sparkline else _OLDEST_SECONDS
        return now < cached.seconds + (max_age if cached.is_over else _FRESH_SECONDS)

    def _read_job(self, name: str, *, has_sparkline: bool) -> _CachedRow | None:
        now_ns = self._clock.now_ns()
        backend = open_backend(job_uri(self._store, name))
        try:
            read = partial(_read_row, backend, now_ns, has_sparkline)
            facts, row = read_in_time(backend, read, MAX_READ_SECONDS)
            if row is None:
                return None
        except StoreError as error:  # one broken job must not hide the others
            text = without_paths(str(error), self._store)
            row = {**_EMPTY, "name": name, "state": BROKEN, "verdict": text}
            return _CachedRow(row, is_over=True, seconds=self._clock.seconds(), has_sparkline=True)
        seconds = self._clock.seconds()
        return _CachedRow({**row, "name": name}, facts.state.is_over, seconds, has_sparkline)


def _read_row(backend: Backend, now_ns: int, has_sparkline: bool) -> tuple[JobFacts, Row | None]:
    """The facts and row of a job; no row if the job was just deleted or never began."""
    facts = read_job(backend, now_ns)
    if facts.info is None and not holds_job(backend):
        return facts, None
    if not has_begun(backend, facts.check_readable()):
        return facts, None
    return facts, read_guarded(backend, lambda: _full_row(backend, facts, now_ns, has_sparkline))


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


_EMPTY: Row = {
    **dict.fromkeys(("state", "start_time", "end_time", "duration_seconds", "worst", "spark")),
    "findings": {},
    "steps": {},
    "nodes": 0,
    "workers": 0,
    "finding": None,
}


def _unread(name: str) -> Row:
    """The row of a job that has not been read yet."""
    return {**_EMPTY, "name": name, "verdict": ""}


def _severity(row: Row) -> tuple[int, ...]:
    return tuple(row["findings"].get(severity.value, 0) for severity in reversed(Severity))


_SORTED_BY: dict[str, Callable[[Row], Any]] = {
    "state": lambda row: row["state"] or "",
    "duration": lambda row: row["duration_seconds"] or 0.0,
    "findings": _severity,
}


def _matches(row: Row, words: Sequence[str], state: str) -> bool:
    text = f"{row['name']} {row['verdict']} {row['finding'] or ''}".lower()
    if not all(word in text for word in words):
        return False
    if state == "over":
        return row["state"] not in (None, "running", "starting")
    return state in ("", row["state"])


def _full_row(backend: Backend, facts: JobFacts, now_ns: int, has_sparkline: bool) -> Row:
    row = _row(backend, facts, now_ns)
    if has_sparkline and facts.workers:
        reader = OpenJob(backend, facts=facts).worker(int(facts.workers[0]))
        row |= {"steps": steps_done(facts, reader), "spark": _sparkline(reader)}
    return row


def _row(backend: Backend, facts: JobFacts, now_ns: int) -> Row:
    status = status_document(facts, now_ns)
    evaluations = read_evaluations(backend, [])
    severities = [episode.severity for rule in evaluations for episode in rule.episodes]
    return {
        "state": status["state"],
        "start_time": status["start_time"],
        "end_time": status["end_time"],
        "duration_seconds": status["duration_seconds"],
        "verdict": verdict(status),
        "finding": _sentence(evaluations),
        "worst": max(severities, key=lambda severity: severity.rank, default=None),
        "findings": severity_counts(severities),
        "steps": reported_steps(facts),
        "nodes": len(facts.nodes),
        "workers": len(facts.workers),
        "spark": None,
    }


def _sentence(evaluations: Sequence[Evaluation]) -> str | None:
    return judged(evaluations) if any(evaluation.episodes for evaluation in evaluations) else None


def _sparkline(reader: WorkerReader) -> dict[str, Any] | None:
    """The training loss of a worker as a sparkline; None if it has recorded none."""
    rows = read_scalars([reader], ScalarQuestion(Losses(), mode="train"))
    names, name_numbers = texts_of(rows["name"])
    if not rows.num_rows:
        return None
    first = min(np.unique(name_numbers).tolist(), key=lambda number: names[number])
    indices = np.flatnonzero(name_numbers == first)
    steps, values = to_numpy(rows["step"])[indices], to_numpy(rows["value"])[indices]
    values = values[np.argsort(steps, kind="stable")]
    edges = np.linspace(0, len(values), min(_SPARKLINE_POINTS, len(values)) + 1).astype(np.int64)
    means = [_mean(values[a:b]) for a, b in itertools.pairwise(edges.tolist())]
    return {"label": names[first], "values": means}


def _mean(values: Any) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None
