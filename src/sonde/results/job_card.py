"""A job in a notebook: its verdict, its headline, and its state in one row."""

from collections.abc import Mapping, Sequence
from typing import Any

from sonde.drawing.html import Element, element
from sonde.drawing.tables import table
from sonde.records.chart import Cell, Column, Table
from sonde.results.headline import Figure
from sonde.results.rule_standing import issues, severity_counts

_SECONDS = "seconds"
_TILE = "display:inline-block;vertical-align:top;margin:0 24px 8px 0;max-width:220px"
_QUIET = "font-size:85%;opacity:.75"
_VALUE = "font-size:125%;font-weight:600"


def job_card(status: Mapping[str, Any], figures: Sequence[Figure] = (), sentence: str = "") -> str:
    """Render a job as HTML: the verdict of the rules, the headline, and the status as a table."""
    verdict = sentence or issues(status)
    return str(
        element(
            "div",
            element("p", element("strong", verdict)) if verdict else None,
            element("div", *map(_tile, figures)) if figures else None,
            table(_state(status)),
        )
    )


def _tile(figure: Figure) -> Element:
    return element(
        "div",
        element("div", figure.title, style=_QUIET),
        element("div", figure.text, style=_VALUE),
        element("div", figure.note, style=_QUIET),
        style=_TILE,
    )


def _state(status: Mapping[str, Any]) -> Table:
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
    return Table(title="", columns=columns, rows=(tuple(figures.values()),))
