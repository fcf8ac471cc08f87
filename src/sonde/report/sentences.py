"""Sentences of the report: the outcome, the summary and the evidence of findings."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.charts import CHARTS
from sonde.formats import pluralize
from sonde.records.chart import Spec
from sonde.results.rule_standing import issues
from sonde.results.verdict import verdict

_SEVERITIES = ("critical", "warning", "info")


def outcome(status: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> str:
    """How the job ended, and the number of findings by severity."""
    counts = {
        severity: sum(finding["severity"] == severity for finding in findings)
        for severity in _SEVERITIES
    }
    listed = ", ".join(_count_text(name, count) for name, count in counts.items() if count)
    sentence = verdict(status)
    if not sentence.endswith((".", "!", "?")):
        sentence += "."
    if not findings:
        return f"{sentence} {issues(status)}".rstrip()
    return f"{sentence} {pluralize(len(findings), 'finding')}: {listed}."


def headlines(specs: Mapping[str, Spec]) -> list[str]:
    """The notes of the charts that belong into the summary, in the order the charts declare."""
    positions = {name: CHARTS.load(name).headline for name in specs}
    names = sorted((name for name in specs if positions[name]), key=positions.__getitem__)
    return [specs[name].note for name in names if specs[name].note]


def _count_text(severity: str, count: int) -> str:
    return pluralize(count, severity) if severity == "warning" else f"{count} {severity}"
