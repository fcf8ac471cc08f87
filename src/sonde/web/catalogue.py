"""The list of jobs: thousands of them, of which a page is shown. What is over is read once."""

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
from sonde.read.opening import BROKEN, MOST_SECONDS, read_guarded, read_in_time
from sonde.read.scalars import Losses, ScalarQuestion, read_scalars
from sonde.read.status import status_document
from sonde.read.training import steps_done, steps_told
from sonde.read.workers import WorkerReader
from sonde.records.finding import Evaluation, Severity
from sonde.results.rule_verdict import verdict as judged
from sonde.results.verdict import verdict
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.places import holds_job, job_uri
from sonde.store.tables import texts_of, to_numpy
from sonde.web.error_texts import without_paths

_FRESH_SECONDS = 1.0
_FRESH_SECONDS_WHEN_OVER = 10.0  # of what a page shows; it may be continued, or judged again
_OLDEST_SECONDS = 600.0  # of what is only searched and sorted
_AT_ONCE = 8
_AHEAD = 20
_SEARCHED_AT_ONCE = 32
_PATIENCE_SECONDS = 0.4  # for who searches: then it is answered with what is known so far
_SPARK = 60

Row = dict[str, Any]


@dataclass(frozen=True)
class _Known:
    """A row, whether it can still change, and when it was read."""

    row: Row
    is_over: bool
    seconds: float
    is_whole: bool  # with its curve, which takes the most time


class Catalogue:
    """All jobs of a store, for all threads of the server."""

    def __init__(self, store: str, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._names: tuple[str, ...] = ()
        self._due = -1.0
        self._created_ns: dict[str, int] = {}
        self._known: dict[str, _Known] = {}
        self._gone: set[str] = set()  # listed, but there was nothing to read

    def find(self, search: str, state: str, sort: str) -> list[str]:
        """The names of the jobs that fit, in order."""
        words = search.lower().split()
        names = list(self._listed())
        key = sort.removeprefix("-")
        if words or state or key in _SORTED_BY:
            rows = self._searched(names)
            names = [name for name in rows if _fits(rows[name], words, state)]
            if key in _SORTED_BY:
                names.sort(key=lambda name: (_SORTED_BY[key](rows[name]), name))
        if key == "start":
            created = self._created_ns
            names.sort(key=lambda name: (created.get(name, 0), name))
        return names[::-1] if sort.startswith("-") else names

    def rows(self, names: Sequence[str]) -> list[Row]:
        """What the list shows of some jobs; one that is gone meanwhile is left out."""
        return self._read(names, is_whole=True)

    @property
    def unread(self) -> int:
        """How many jobs nobody has read yet: a search finds those by their names alone."""
        with self._lock:
            return sum(name not in self._known and name not in self._gone for name in self._names)

    def read_ahead(self) -> None:
        """Reads all jobs, a few at a time and the latest first, so that searching finds them read.

        For a thread of its own; it takes a third of a core at most.
        """
        names, never = self.find("", "", "-start"), threading.Event()
        for some in (names[place : place + _AHEAD] for place in range(0, len(names), _AHEAD)):
            began = self._clock.seconds()
            self._read(some, is_whole=False)
            self._clock.wait(never, 2 * (self._clock.seconds() - began))

    def _searched(self, names: Sequence[str]) -> dict[str, Row]:
        """A row of each job; of thousands only as many are read as a person has patience for."""
        began, created = self._clock.seconds(), self._created_ns
        with self._lock:
            stale = [name for name in names if not self._is_fresh(name, began, is_whole=False)]
            # what was read before may have changed; of the rest the latest is wanted most
            stale.sort(key=lambda name: (name not in self._known, -created.get(name, 0)))
        for place in range(0, len(stale), _SEARCHED_AT_ONCE):
            if self._clock.seconds() > began + _PATIENCE_SECONDS:
                break
            self._read(stale[place : place + _SEARCHED_AT_ONCE], is_whole=False)
        with self._lock:
            known = {name: self._known[name].row for name in names if name in self._known}
            there = [name for name in names if name in known or name not in self._gone]
        return {name: known.get(name) or _unread(name) for name in there}

    def forget(self, name: str) -> None:
        """A job is gone."""
        with self._lock:
            self._due = -1.0
            self._known.pop(name, None)

    def _listed(self) -> tuple[str, ...]:
        with self._lock:
            began = self._clock.seconds()
            if began >= self._due:
                self._look_around()
                now = self._clock.seconds()
                self._due = now + max(_FRESH_SECONDS, 10 * (now - began))
            return self._names

    def _look_around(self) -> None:
        """Which folders of the store are jobs; when one began is read once."""
        backend = open_backend(self._store)
        folders = [name for name in backend.folders("") if not name.startswith(".")]
        new = [name for name in folders if name not in self._created_ns]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = zip(new, pool.map(partial(_created_ns, self._store), new), strict=True)
            created = self._created_ns | {name: one for name, one in found if one is not None}
        self._names = tuple(name for name in folders if name in created)
        self._created_ns = {name: created[name] for name in self._names}
        self._known = {name: one for name, one in self._known.items() if name in created}

    def _read(self, names: Sequence[str], *, is_whole: bool) -> list[Row]:
        now = self._clock.seconds()
        with self._lock:
            stale = [name for name in names if not self._is_fresh(name, now, is_whole=is_whole)]
        look = partial(self._look, is_whole=is_whole)
        if len(stale) > 1:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                found = list(pool.map(look, stale))
        else:
            found = [look(name) for name in stale]
        with self._lock:
            self._known |= {one.row["name"]: one for one in found if one is not None}
            gone = {name for name, one in zip(stale, found, strict=True) if one is None}
            self._gone = (self._gone - set(stale)) | gone
            there = [name for name in names if name not in gone]
            return [self._known[name].row for name in there if name in self._known]

    def _is_fresh(self, name: str, now: float, *, is_whole: bool) -> bool:
        known = self._known.get(name)
        if known is None or (is_whole and not known.is_whole):
            return False
        oldest = _FRESH_SECONDS_WHEN_OVER if is_whole else _OLDEST_SECONDS
        return now < known.seconds + (oldest if known.is_over else _FRESH_SECONDS)

    def _look(self, name: str, *, is_whole: bool) -> _Known | None:
        now_ns = self._clock.now_ns()
        backend = open_backend(job_uri(self._store, name))
        try:
            read = partial(_read_row, backend, now_ns, is_whole)
            facts, row = read_in_time(backend, read, MOST_SECONDS)
            if row is None:
                return None
        except StoreError as error:  # the other jobs are there all the same
            text = without_paths(str(error), self._store)
            row = {**_EMPTY, "name": name, "state": BROKEN, "verdict": text}
            return _Known(row, is_over=True, seconds=self._clock.seconds(), is_whole=True)
        seconds = self._clock.seconds()
        return _Known({**row, "name": name}, facts.state.is_over, seconds, is_whole)


def _read_row(backend: Backend, now_ns: int, is_whole: bool) -> tuple[JobFacts, Row | None]:
    """What is known of a job, and its row; none where it was removed just now or never began."""
    facts = read_job(backend, now_ns)
    if facts.info is None and not holds_job(backend):
        return facts, None
    if not has_begun(backend, facts.refuse_nothing()):
        return facts, None
    return facts, read_guarded(backend, lambda: _whole_row(backend, facts, now_ns, is_whole))


def _created_ns(store: str, name: str) -> int | None:
    """When a job began; None where a folder is none. Its checksum is looked at by who reads it."""
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
    """A job of which only the name is known so far."""
    return {**_EMPTY, "name": name, "verdict": ""}


def _severity(row: Row) -> tuple[int, ...]:
    return tuple(row["findings"].get(one.value, 0) for one in reversed(Severity))


_SORTED_BY: dict[str, Callable[[Row], Any]] = {
    "state": lambda row: row["state"] or "",
    "duration": lambda row: row["duration_seconds"] or 0.0,
    "findings": _severity,
}


def _fits(row: Row, words: Sequence[str], state: str) -> bool:
    text = f"{row['name']} {row['verdict']} {row['finding'] or ''}".lower()
    if not all(word in text for word in words):
        return False
    if state == "over":
        return row["state"] not in (None, "running", "starting")
    return state in ("", row["state"])


def _whole_row(backend: Backend, facts: JobFacts, now_ns: int, is_whole: bool) -> Row:
    row = _row(backend, facts, now_ns)
    if is_whole and facts.workers:
        reader = WorkerReader(backend, int(facts.workers[0]), facts.lives)
        row |= {"steps": steps_done(facts, reader), "spark": _spark(reader)}
    return row


def _row(backend: Backend, facts: JobFacts, now_ns: int) -> Row:
    status = status_document(facts, now_ns)
    evaluations = read_evaluations(backend, [])
    severities = [one.severity for rule in evaluations for one in rule.episodes]
    counts = {one.value: severities.count(one) for one in Severity if one in severities}
    return {
        "state": status["state"],
        "start_time": status["start_time"],
        "end_time": status["end_time"],
        "duration_seconds": status["duration_seconds"],
        "verdict": verdict(status),
        "finding": _sentence(evaluations),
        "worst": max(severities, key=lambda one: one.rank, default=None),
        "findings": counts,
        "steps": steps_told(facts),
        "nodes": len(facts.nodes),
        "workers": len(facts.workers),
        "spark": None,
    }


def _sentence(evaluations: Sequence[Evaluation]) -> str | None:
    return judged(evaluations) if any(one.episodes for one in evaluations) else None


def _spark(reader: WorkerReader) -> dict[str, Any] | None:
    """The loss of a worker, in a few points; None where it has recorded none."""
    rows = read_scalars([reader], ScalarQuestion(Losses(), mode="train"))
    names, named = texts_of(rows["name"])
    if not rows.num_rows:
        return None
    first = min(np.unique(named).tolist(), key=lambda number: names[number])
    mine = np.flatnonzero(named == first)
    steps, values = to_numpy(rows["step"])[mine], to_numpy(rows["value"])[mine]
    values = values[np.argsort(steps, kind="stable")]
    edges = np.linspace(0, len(values), min(_SPARK, len(values)) + 1).astype(np.int64)
    means = [_mean(values[a:b]) for a, b in itertools.pairwise(edges.tolist())]
    return {"label": names[first], "values": means}


def _mean(values: Any) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
