"""Snapshots of a job and the updates between them."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.drawing.printable import replace_non_finite, safe_json
from sonde.read.findings import episode_document, read_evaluations
from sonde.read.jobs import JobFacts
from sonde.read.open_job import OpenJob
from sonde.read.sampling import read_sampling
from sonde.read.status import job_coverage, status_document
from sonde.read.training import recorded_steps, reported_steps
from sonde.records.finding import Severity
from sonde.records.ranges import TimeRange
from sonde.records.seen import Seen
from sonde.records.step import EventCategory
from sonde.results.rule_verdict import root_first, verdict
from sonde.store.format import EVENTS
from sonde.store.tables import texts_of, to_numpy
from sonde.web.documents import FindingsDocument
from sonde.web.shared_job import SharedJob

_RECENT_SECONDS = 30
_MAX_INSTANT_DIGITS = 20
_SECTIONS = ("status", "steps", "findings")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """A server-sent event: its kind, its data, and the cursor after it."""

    kind: str
    data: Document
    id: str = ""

    def encoded(self) -> bytes:
        """The event in the text/event-stream format."""
        text = safe_json(
            json.dumps(replace_non_finite(self.data), ensure_ascii=False, allow_nan=False)
        )
        line = f"id: {self.id}\n" if self.id else ""
        return f"event: {self.kind}\n{line}data: {text}\n\n".encode()


@dataclass(frozen=True)
class Snapshot:
    """The state of a job at one moment, as one document per section."""

    now_ns: int
    newest_ns: int  # instant of the newest sample; 0 if there is none
    sections: Mapping[str, Document] = field(default_factory=dict)

    @property
    def cursor(self) -> str:
        """The cursor of a listener that has received everything."""
        return "-".join(
            (str(self.newest_ns), *(_digest(self.sections[name]) for name in _SECTIONS))
        )

    def updates(self, cursor: str) -> list[Event]:
        """The events after a cursor; all sections if the cursor is invalid."""
        cursor_parts = cursor.split("-")
        is_valid = len(cursor_parts) == 1 + len(_SECTIONS) and cursor_parts[0].isdecimal()
        if not is_valid or len(cursor_parts[0]) > _MAX_INSTANT_DIGITS:
            cursor_parts = ["0", *("" for _ in _SECTIONS)]
        events = [
            Event(name, self._with_time(name))
            for name, digest in zip(_SECTIONS, cursor_parts[1:], strict=True)
            if digest != _digest(self.sections[name])
        ]
        if int(cursor_parts[0]) < self.newest_ns:
            since = int(cursor_parts[0]) / NANOSECONDS if int(cursor_parts[0]) else None
            samples = {"from": since, "to": self.newest_ns / NANOSECONDS}
            events.append(Event("samples", {**samples, "now": self.now_ns / NANOSECONDS}))
        if events:
            events[-1] = Event(events[-1].kind, events[-1].data, self.cursor)
        return events

    def _with_time(self, name: str) -> Document:
        return {**self.sections[name], "now": self.now_ns / NANOSECONDS}


def take_snapshot(job: SharedJob) -> Snapshot:
    """Take a snapshot of a job; reads only what is new since the last one."""
    facts, now_ns = job.facts, job.clock.now_ns()
    sections = {
        "status": _status(facts, now_ns),
        "steps": {"steps": _steps(job, facts)},
        "findings": findings_document(job),
    }
    return Snapshot(now_ns, job.newest_ns, sections)


def findings_document(job: SharedJob) -> FindingsDocument:
    """The findings so far: causes before consequences, then by severity."""
    with job.episodes() as reader:
        evaluations = read_evaluations(job.backend, [], reader)
    episodes = root_first(episode for rule in evaluations for episode in rule.episodes)
    counts = {
        each.value: sum(episode.severity is each for episode in episodes) for each in Severity
    }
    return {
        "findings": [episode_document(episode) for episode in episodes],
        "counts": {name: count for name, count in counts.items() if count},
        "worst": max(
            (each.severity for each in episodes), key=lambda severity: severity.rank, default=None
        ),
        "sentence": verdict(evaluations, _coverage(job)) if evaluations else None,
    }


def _coverage(job: SharedJob) -> Seen:
    facts = job.facts
    opened = OpenJob(job.backend, job.clock, facts=facts)
    return job_coverage(facts, recorded_steps(opened), opened.now_ns)


def sampling_document(facts: JobFacts) -> dict[str, Any]:
    """The current sampling interval and whether monitoring is on."""
    return asdict(read_sampling(facts))


def _status(facts: JobFacts, now_ns: int) -> dict[str, Any]:
    document: Document = status_document(facts, now_ns)
    keys = ("state", "attempts", "exit", "start_time", "end_time", "profiling")
    return {**{name: document[name] for name in keys}, **sampling_document(facts)}


def _steps(job: SharedJob, facts: JobFacts) -> dict[str, int]:
    """The number of steps per mode, including those the first worker just completed."""
    counts = reported_steps(facts)
    if facts.state.is_over or not facts.workers:
        return counts
    since_ns = job.clock.now_ns() - _RECENT_SECONDS * NANOSECONDS
    only = {"category": {EventCategory.STEP.value}}
    with job.worker(int(facts.workers[0])) as reader:
        rows = reader.folder(EVENTS).rows(TimeRange(since_ns), columns=("mode", "step"), only=only)
    modes, mode_numbers = texts_of(rows["mode"])
    steps = to_numpy(rows["step"])
    for number, mode in enumerate(modes):
        mode_steps = steps[mode_numbers == number]
        if len(mode_steps):
            counts[mode] = max(counts.get(mode, 0), int(np.max(mode_steps)) + 1)
    return counts


def _digest(section: Document) -> str:
    return f"{zlib.crc32(json.dumps(section, sort_keys=True, default=str).encode()):08x}"
