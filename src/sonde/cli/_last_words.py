"""What rules said about a job, as `sonde run` and `sonde attach` tell it at the end."""

from sonde.errors import StoreError
from sonde.records.finding import Episode, Verdict
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.layout import report_key, rules_key

_MOST_LINES = 3


def read_verdict(backend: Backend) -> Verdict | None:
    """What rules came to; None where none were asked."""
    key = rules_key("verdict")
    try:
        return decode_facts(Verdict, backend.read(key), key)
    except StoreError:
        return None


def verdict_lines(verdict: Verdict | None, job: str) -> list[str]:
    """The verdict, the first findings, and where the rest is; `job` is how to name the job."""
    if verdict is None:
        return []
    severity = f"{verdict.first[0].severity.value}: " if verdict.first else ""
    lines = [f"{'' if verdict.is_final else 'so far: '}{severity}{verdict.sentence}"]
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
