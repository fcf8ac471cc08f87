"""Findings in one line each, for the status and the live view."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_local_clock
from sonde.terminal.styles import QUIET

_STYLES = {"critical": "red", "warning": "yellow", "info": QUIET}


def short_finding_lines(findings: Sequence[Mapping[str, Any]], most: int) -> list[Text]:
    """The findings, one in a line; those that are over are quiet."""
    lines = []
    for one in findings[:most]:
        style = _STYLES[one["severity"]] if one["is_open"] else QUIET
        line = Text.assemble(
            (f"{format_local_clock(one['time'][0])} ", QUIET), (one["severity"], style)
        )
        line.append(f" {one['rule']}: {one['message']}")
        lines.append(line.append(f" ({one['outcome']})", QUIET))
    left = len(findings) - most
    return [*lines, Text(f"… and {left} more: sonde findings", QUIET)] if left > 0 else lines
