"""What rules said about a job, as `sonde run` and `sonde attach` tell it at the end."""

from collections.abc import Iterable
from dataclasses import asdict

from sonde.errors import StoreError
from sonde.read.coverage import read_markers, seen_of
from sonde.records.finding import Episode, Verdict
from sonde.records.notice import Notice
from sonde.results.coverage import not_seen
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.layout import WORKERS, report_key, rules_key

_MOST_LINES = 3


def read_verdict(backend: Backend) -> Verdict | None:
    """What rules came to; None where none were asked."""
    key = rules_key("verdict")
    try:
        return decode_facts(Verdict, backend.read(key), key)
    except StoreError:
        return None


def seen_at_end(
    backend: Backend,
    verdict: Verdict | None,
    attempt: tuple[str, int],
    lost: Iterable[Notice] = (),
) -> str:
    """That the inside of a job was not seen, and why; empty where it was, or nobody can tell.

    Args:
        backend: The job.
        verdict: What rules came to; they know what was recorded.
        attempt: The node and its attempt.
        lost: Losses, which are printed too: lost training steps are no sign that none ran.
    """
    if any(notice.is_loss_of_steps for notice in lost):
        return ""
    if verdict is not None and verdict.is_final and verdict.seen is not None:
        return not_seen(asdict(verdict.seen))
    try:
        if backend.folders(WORKERS):  # something trains, and who reads it all has not done so
            return ""
        markers = read_markers(backend, *attempt)
        return not_seen(asdict(seen_of(markers.frameworks, {}, markers.hook_failures)))
    except StoreError:
        return ""


def verdict_lines(verdict: Verdict | None, job: str) -> list[str]:
    """The verdict, the first findings, and where the rest is; `job` is how to name the job."""
    if verdict is None:
        return []
    severity = f"{verdict.first[0].severity.value}: " if verdict.first else ""
    early = "" if verdict.is_final or not verdict.findings else "so far: "
    lines = [f"{early}{severity}{verdict.sentence}"]
    lines += [_line(one) for one in verdict.first[1:_MOST_LINES]]
    if verdict.findings:
        lines.append(f"what to do: sonde findings {job}")
    if not verdict.is_final:
        goes_on = f"sonde check {job} --record goes on once the job is over"
        lines.append(f"rules have not seen everything: {goes_on}")
    return lines


def report_place(backend: Backend) -> str:
    """Where the job's report lies."""
    return f"{backend.uri.rstrip('/')}/{report_key('report.html')}"


def _line(episode: Episode) -> str:
    finding = episode.finding
    return f"  {episode.severity.value}: {finding.rule}: {finding.message}"
