"""A job in a notebook: its state in one row."""

from collections.abc import Mapping
from typing import Any

from sonde.drawing.html import element
from sonde.drawing.tables import table
from sonde.records.chart import Cell, Column, Table
from sonde.results.rule_standing import severity_counts

_SECONDS = "seconds"


def job_card(status: Mapping[str, Any]) -> str:
    """Render the status document of a job as an HTML table."""
    steps = ", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())
    severities = [finding["severity"] for rule in status["rules"] for finding in rule["findings"]]
    counts = [f"{count} {severity}" for severity, count in severity_counts(severities).items()]
    figures: dict[str, Cell] = {
        "job": status["job"],
        "state": status["state"],
        _SECONDS: status["duration_seconds"],
        "steps": steps or "none",
        "nodes": len(status["nodes"]),
        "workers": status["workers"],
        "findings": ", ".join(counts) or "none",
    }
    columns = tuple(
        Column(name=name, title=name, unit=_SECONDS if name == _SECONDS else "") for name in figures
    )
    shown = Table(title="", columns=columns, rows=(tuple(figures.values()),))
    return str(element("div", table(shown)))
