"""The findings that `sonde run` and `sonde attach` print at the end."""

from collections.abc import Sequence
from dataclasses import asdict

from sonde.bounded_calls import call_within
from sonde.errors import StoreError
from sonde.read.coverage import coverage_from, read_markers
from sonde.read.overhead import combine_overhead, read_worker_beats
from sonde.records.finding import Episode, Verdict
from sonde.records.job import Overhead
from sonde.records.notice import Notice, NoticeKind
from sonde.records.worker import WorkerBeat
from sonde.results.coverage import unrecorded_line
from sonde.results.overhead import overhead_text
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.layout import NODES, WORKERS, report_key, rules_key
from sonde.terminal.advice import end_lines

_MAX_FINDINGS = 3
_MAX_MISSING = 3
_READ_SECONDS = 1.0


def read_verdict(backend: Backend) -> Verdict | None:
    """The recorded verdict of the rules; None if no rules ran."""
    key = rules_key("verdict")
    try:
        return decode_facts(Verdict, backend.read(key), key)
    except StoreError:
        return None


def not_seen_at_end(
    backend: Backend,
    verdict: Verdict | None,
    attempt: tuple[str, int],
    notices: Sequence[Notice] = (),
    *,
    has_failed: bool = False,
) -> str:
    """Why the training process was not recorded; empty if it was, or if that is unknown.

    Args:
        backend: The job.
        verdict: The verdict of the rules, which includes what was recorded.
        attempt: The node and its attempt.
        notices: What was lost or not recorded. If training steps were lost, their absence proves
            nothing.
        has_failed: Whether the command failed.
    """
    if any(notice.kind is NoticeKind.LOST_STEPS for notice in notices):
        return ""
    if verdict is not None and verdict.is_final and verdict.seen is not None:
        return unrecorded_line(asdict(verdict.seen))
    try:
        if backend.folders(WORKERS):  # there is training, but rules have not read it yet
            return ""
        markers = read_markers(backend, *attempt)
        failures = [item.reason for item in notices if item.kind is NoticeKind.HOOK_NOT_LOADED]
        failures = [*markers.hook_failures, *failures]
        coverage = coverage_from(markers.frameworks, {}, failures, has_failed=has_failed)
        return unrecorded_line(asdict(coverage))
    except StoreError:
        return ""


def missing_data_lines(notices: Sequence[Notice]) -> list[str]:
    """What was lost, and what was not recorded in the processes that Sonde recorded."""
    unrecorded = [item for item in notices if item.kind is NoticeKind.NOT_COLLECTED]
    lost = [
        item
        for item in notices
        if item.kind not in (NoticeKind.NOT_COLLECTED, NoticeKind.HOOK_NOT_LOADED)
    ]
    lines = [f"Data lost: {item.what}: {item.reason}" for item in lost[:_MAX_MISSING]]
    return lines + [
        f"Not recorded: {item.what}: {item.reason}" for item in unrecorded[:_MAX_MISSING]
    ]


def overhead_at_end(backend: Backend, launcher: Overhead, attempt: int) -> str:
    """The overhead as `sonde status` shows it.

    On one of several nodes, or if the store does not respond in time, that of the launcher.
    """

    def read() -> list[WorkerBeat]:
        return list(read_worker_beats(backend, attempt)) if len(backend.folders(NODES)) == 1 else []

    beats = call_within(_READ_SECONDS, "reading the overhead", read, [])
    return overhead_text(combine_overhead([launcher], beats))


def verdict_lines(verdict: Verdict | None, job: str) -> list[str]:
    """The verdict, the first findings, and the command that shows all; `job` is a reference."""
    if verdict is None:
        return []
    severity = f"{verdict.first[0].severity.value}: " if verdict.first else ""
    early = "" if verdict.is_final or not verdict.findings else "So far: "
    lines = [*end_lines(verdict, job), f"{early}{severity}{verdict.sentence}"]
    lines += [_line(episode) for episode in verdict.first[1:_MAX_FINDINGS]]
    if verdict.findings:
        lines.append(f"Recommendations: sonde findings {job}")
    if not verdict.is_final:
        command = f"sonde check {job} --record"
        lines.append(f"Rules have not processed all data. When the job has ended, run: {command}")
    return lines


def report_uri(backend: Backend) -> str:
    """The location of the job's report."""
    return f"{backend.uri.rstrip('/')}/{report_key('report.html')}"


def _line(episode: Episode) -> str:
    finding = episode.finding
    return f"  {episode.severity.value}: {finding.rule}: {finding.message}"
