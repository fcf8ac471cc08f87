"""What rules say about a job, in lines for a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.drawing.units import local_hour
from sonde.results.rule_coverage import coverage_in, no_issues
from sonde.terminal.styles import QUIET

_STYLES = {"critical": "red", "warning": "yellow", "info": QUIET}
_UNFINISHED = ("InProgress",)


def standing(rules: Sequence[Mapping[str, Any]], *, is_over: bool) -> str:
    """How the rules stand, in numbers; that they have not come to the end, where that is so."""
    counts: dict[str, int] = {}
    for one in rules:
        counts[one["status"]] = counts.get(one["status"], 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    is_unfinished = is_over and any(status in counts for status in _UNFINISHED)
    return f"{said}; not finished: sonde check --record goes on" if is_unfinished else said


def issues(status: Mapping[str, Any]) -> str:
    """The sentence for a job in which no rule has found anything; empty where one has."""
    if not status["rules"] or any(one["findings"] for one in status["rules"]):
        return ""
    return no_issues(coverage_in(status))


def broken(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rules that failed, and why."""
    return [f"{one['rule']}: {one['reason']}" for one in rules if one["status"] == "Error"]


def finding_lines(findings: Sequence[Mapping[str, Any]], most: int) -> list[Text]:
    """The findings, one in a line; those that are over are quiet."""
    lines = []
    for one in findings[:most]:
        style = _STYLES[one["severity"]] if one["is_open"] else QUIET
        line = Text.assemble((f"{local_hour(one['time'][0])} ", QUIET), (one["severity"], style))
        line.append(f" {one['rule']}: {one['message']}")
        lines.append(line.append(f" ({one['outcome']})", QUIET))
    left = len(findings) - most
    return [*lines, Text(f"… and {left} more: sonde findings", QUIET)] if left > 0 else lines


def worst_first(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All findings: the open ones first, the worst of them before others."""
    found = [finding for one in rules for finding in one["findings"]]
    order = tuple(_STYLES)
    return sorted(
        found, key=lambda one: (not one["is_open"], order.index(one["severity"]), one["time"][0])
    )
