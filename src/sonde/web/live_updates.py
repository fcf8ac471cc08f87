"""What there is to tell of a job at one moment, and what of it is news to somebody."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.drawing.printable import safe_json, writable
from sonde.read.findings import episode_document, read_evaluations
from sonde.read.jobs import JobFacts
from sonde.read.sampling import read_sampling
from sonde.read.status import seen_in, status_document
from sonde.read.training import steps_seen, steps_told
from sonde.records.finding import Severity
from sonde.records.ranges import TimeRange
from sonde.records.seen import Seen
from sonde.records.step import EventCategory
from sonde.results.rule_verdict import root_first, verdict
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy
from sonde.web.shared_job import SharedJob

_RECENT_SECONDS = 30
_LONGEST_INSTANT = 20  # digits
_PARTS = ("status", "steps", "findings")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """One thing to tell: its kind, what it says, and where who has heard it stands."""

    kind: str
    data: Document
    id: str = ""

    def encoded(self) -> bytes:
        """As it goes over the wire."""
        text = safe_json(json.dumps(writable(self.data), ensure_ascii=False, allow_nan=False))
        line = f"id: {self.id}\n" if self.id else ""
        return f"event: {self.kind}\n{line}data: {text}\n\n".encode()


@dataclass(frozen=True)
class Moment:
    """A job as it stands: each part as it would be told."""

    now_ns: int
    newest_ns: int  # sample; 0 where there is none
    parts: Mapping[str, Document] = field(default_factory=dict)

    @property
    def cursor(self) -> str:
        """Where somebody stands who has been told all of it."""
        return "-".join((str(self.newest_ns), *(_mark(self.parts[name]) for name in _PARTS)))

    def news(self, cursor: str) -> list[Event]:
        """What somebody who stands at a cursor has not been told; at no known one, everything."""
        heard = cursor.split("-")
        is_known = len(heard) == 1 + len(_PARTS) and heard[0].isdecimal()
        if not is_known or len(heard[0]) > _LONGEST_INSTANT:
            heard = ["0", *("" for _ in _PARTS)]
        found = [
            Event(name, self._told(name))
            for name, mark in zip(_PARTS, heard[1:], strict=True)
            if mark != _mark(self.parts[name])
        ]
        if int(heard[0]) < self.newest_ns:
            since = int(heard[0]) / NANOSECONDS if int(heard[0]) else None
            samples = {"from": since, "to": self.newest_ns / NANOSECONDS}
            found.append(Event("samples", {**samples, "now": self.now_ns / NANOSECONDS}))
        if found:
            found[-1] = Event(found[-1].kind, found[-1].data, self.cursor)
        return found

    def _told(self, name: str) -> Document:
        return {**self.parts[name], "now": self.now_ns / NANOSECONDS}


def look_at(job: SharedJob) -> Moment:
    """The job now; only what is new since the last look is read."""
    facts, now_ns = job.facts, job.clock.now_ns()
    parts = {
        "status": _status(facts, now_ns),
        "steps": {"steps": _steps(job, facts)},
        "findings": findings_document(job),
    }
    return Moment(now_ns, job.newest_ns, parts)


def findings_document(job: SharedJob) -> dict[str, Any]:
    """What rules have found so far: causes before consequences, the worst first."""
    with job.episodes() as reader:
        evaluations = read_evaluations(job.backend, [], reader)
    found = root_first(one for rule in evaluations for one in rule.episodes)
    counts = {one.value: sum(own.severity is one for own in found) for one in Severity}
    return {
        "findings": [episode_document(one) for one in found],
        "counts": {name: count for name, count in counts.items() if count},
        "worst": max((one.severity for one in found), key=lambda one: one.rank, default=None),
        "sentence": verdict(evaluations, _seen(job)) if evaluations else None,
    }


def _seen(job: SharedJob) -> Seen:
    facts = job.facts
    return seen_in(facts, steps_seen(job.backend, facts), job.clock.now_ns())


def sampling(facts: JobFacts) -> dict[str, Any]:
    """How the machines are sampled just now: how often, and whether at all."""
    return asdict(read_sampling(facts))


def _status(facts: JobFacts, now_ns: int) -> dict[str, Any]:
    document = status_document(facts, now_ns)
    kept = ("state", "attempts", "exit", "start_time", "end_time", "profiling")
    return {**{name: document[name] for name in kept}, **sampling(facts)}


def _steps(job: SharedJob, facts: JobFacts) -> dict[str, int]:
    """How many steps are done, as the first worker wrote them a moment ago."""
    found = steps_told(facts)
    if facts.state.is_over or not facts.workers:
        return found
    since_ns = job.clock.now_ns() - _RECENT_SECONDS * NANOSECONDS
    only = {"category": {EventCategory.STEP.value}}
    with job.worker(int(facts.workers[0])) as reader:
        rows = reader.folder(EVENTS).rows(TimeRange(since_ns), columns=("mode", "step"), only=only)
    modes, chosen = texts_of(rows["mode"])
    steps = to_numpy(rows["step"])
    for number, mode in enumerate(modes):
        mine = steps[chosen == number]
        if len(mine):
            found[mode] = max(found.get(mode, 0), int(np.max(mine)) + 1)
    return found


def _mark(part: Document) -> str:
    return f"{zlib.crc32(json.dumps(part, sort_keys=True, default=str).encode()):08x}"
