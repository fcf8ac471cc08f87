"""Rules of a job: counts by status, failures, and findings in order."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.results.rule_coverage import coverage_in, no_issues

_SEVERITIES = ("critical", "warning", "info")  # the most severe first
_UNFINISHED = ("InProgress",)


def standing(rules: Sequence[Mapping[str, Any]], *, is_over: bool) -> str:
    """Number of rules by status, and whether they stopped before the end of the job."""
    counts: dict[str, int] = {}
    for one in rules:
        counts[one["status"]] = counts.get(one["status"], 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    is_unfinished = is_over and any(status in counts for status in _UNFINISHED)
    return f"{said}; not finished, continue with: sonde check --record" if is_unfinished else said


def issues(status: Mapping[str, Any]) -> str:
    """The sentence for a job without findings; empty if there are findings."""
    if not status["rules"] or any(one["findings"] for one in status["rules"]):
        return ""
    return no_issues(coverage_in(status))


def broken(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rules that failed, with their errors."""
    return [f"{one['rule']}: {one['reason']}" for one in rules if one["status"] == "Error"]


def worst_first(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All findings: ongoing ones first, the most severe first."""
    found = [finding for one in rules for finding in one["findings"]]
    return sorted(
        found,
        key=lambda one: (not one["is_open"], _SEVERITIES.index(one["severity"]), one["time"][0]),
    )
