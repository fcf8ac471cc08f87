"""The standing of the rules of a job: counts, failures, and findings in order."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.results.rule_coverage import coverage_in, no_issues

_SEVERITIES = ("critical", "warning", "info")  # the worst first
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


def worst_first(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All findings: the open ones first, the worst of them before others."""
    found = [finding for one in rules for finding in one["findings"]]
    return sorted(
        found,
        key=lambda one: (not one["is_open"], _SEVERITIES.index(one["severity"]), one["time"][0]),
    )
