"""Rules of a job: counts by status, failures, and findings in order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sonde.results.rule_coverage import coverage_in, no_issues

SEVERITIES = ("critical", "warning", "info")  # the most severe first
_UNFINISHED = ("InProgress",)


def status_counts(rules: Sequence[Mapping[str, Any]], *, is_over: bool) -> str:
    """Number of rules by status, and whether they stopped before the end of the job."""
    counts: dict[str, int] = {}
    for rule in rules:
        counts[rule["status"]] = counts.get(rule["status"], 0) + 1
    text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    is_unfinished = is_over and any(status in counts for status in _UNFINISHED)
    return f"{text}; not finished, continue with: sonde check --record" if is_unfinished else text


def issues(status: Mapping[str, Any]) -> str:
    """The sentence for a job without findings; empty if there are findings."""
    if not status["rules"] or any(rule["findings"] for rule in status["rules"]):
        return ""
    return no_issues(coverage_in(status))


def failed_rules(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rules that failed, with their errors."""
    return [f"{rule['rule']}: {rule['reason']}" for rule in rules if rule["status"] == "Error"]


def severity_counts(severities: Iterable[str]) -> dict[str, int]:
    """The number of findings of each severity, the most severe first."""
    present = list(severities)
    return {each: present.count(each) for each in SEVERITIES if each in present}
