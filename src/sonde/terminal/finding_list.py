"""Findings in a line each, for the status and the live view."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from sonde.clock import NANOSECONDS
from sonde.formats import format_local_clock, pluralize
from sonde.terminal.styles import QUIET, severity_style

_NEW_SECONDS = 30.0  # a finding of a running job is called new for so long

_Finding = Mapping[str, Any]


def short_finding_lines(
    findings: Sequence[_Finding], max_lines: int, now_ns: int | None = None
) -> list[Text]:
    """A line per finding; consequences are below their cause, resolved findings are dimmed.

    Args:
        findings: In the order of all screens: causes before their consequences.
        max_lines: Lines for findings.
        now_ns: The current time, if new findings are to be marked. They are always among those
            shown.
    """
    new = {each["id"] for each in findings if now_ns is not None and _is_new(each, now_ns)}
    shown = list(findings[:max_lines])
    if hidden_new := [each for each in findings[max_lines:] if each["id"] in new]:
        shown = [*findings[: max_lines - 1], max(hidden_new, key=lambda each: each["time"][0])]
    ids = {each["id"] for each in shown}
    lines = [
        _line(each, is_consequence=each["cause"] in ids, is_new=each["id"] in new) for each in shown
    ]
    hidden = len(findings) - len(shown)
    if hidden > 0:
        lines.append(Text(f"… and {pluralize(hidden, 'more', 'more')}: sonde findings", QUIET))
    return lines


def _line(finding: _Finding, *, is_consequence: bool, is_new: bool) -> Text:
    style = severity_style(finding["severity"]) if finding["is_open"] else QUIET
    line = Text.assemble((f"{format_local_clock(finding['time'][0])} ", QUIET))
    line.append("new " if is_new else "", "bold").append("└ " if is_consequence else "", QUIET)
    line.append(finding["severity"], style).append(f" {finding['rule']}: {finding['message']}")
    return line.append(f" ({finding['outcome']})", QUIET)


def _is_new(finding: _Finding, now_ns: int) -> bool:
    start = datetime.fromisoformat(finding["time"][0]).timestamp()
    return now_ns / NANOSECONDS - start < _NEW_SECONDS
