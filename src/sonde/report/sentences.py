"""What the numbers say, in sentences; nothing is said about what was not measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.formats import pluralize
from sonde.records.chart import Spec
from sonde.results.rule_standing import issues
from sonde.results.verdict import verdict

_IN_SHORT = (
    *("job_details", "step_statistics", "phase_time"),
    *("gpu_usage", "resources", "loaders", "losses"),
)
_SEVERITIES = ("critical", "warning", "info")


def opening(status: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> str:
    """What became of the job, and how many findings there are, by severity."""
    counts = {one: sum(row["severity"] == one for row in findings) for one in _SEVERITIES}
    said = ", ".join(_counted(name, count) for name, count in counts.items() if count)
    told = verdict(status)
    ended = told if told.endswith((".", "!", "?")) else f"{told}."
    if not findings:
        return f"{ended} {issues(status)}".rstrip()
    return f"{ended} {pluralize(len(findings), 'finding')}: {said}."


def in_short(specs: Mapping[str, Spec]) -> list[str]:
    """The first sentences of the chapters that matter most."""
    return [specs[name].note for name in _IN_SHORT if name in specs and specs[name].note]


def evidence_text(name: str, value: object) -> str:
    """A piece of evidence as a person reads it."""
    said = name.replace("_", " ")
    if isinstance(value, bool):
        return f"{said}: {'yes' if value else 'no'}"
    if isinstance(value, float | int):
        return f"{said}: {value:,.4g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(f"{one:.4g}" if isinstance(one, float) else str(one) for one in value[:8])
        return f"{said}: {shown}{', …' if len(value) > 8 else ''}"
    return f"{said}: {value}"


def _counted(severity: str, count: int) -> str:
    return pluralize(count, severity) if severity == "warning" else f"{count} {severity}"
