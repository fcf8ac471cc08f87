"""Findings, one per line, for the status and the live view."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_local_clock
from sonde.terminal.styles import QUIET, severity_style


def short_finding_lines(findings: Sequence[Mapping[str, Any]], max_lines: int) -> list[Text]:
    """A line per finding; resolved findings are dimmed."""
    lines = []
    for finding in findings[:max_lines]:
        style = severity_style(finding["severity"]) if finding["is_open"] else QUIET
        line = Text.assemble(
            (f"{format_local_clock(finding['time'][0])} ", QUIET), (finding["severity"], style)
        )
        line.append(f" {finding['rule']}: {finding['message']}")
        lines.append(line.append(f" ({finding['outcome']})", QUIET))
    hidden = len(findings) - max_lines
    return [*lines, Text(f"… and {hidden} more: sonde findings", QUIET)] if hidden > 0 else lines
