"""Where and with what a job ran: machine, versions, command."""

import shlex
from collections.abc import Mapping
from typing import Any

from sonde.charts._chart import Chart
from sonde.formats import format_value, pluralize
from sonde.records.chart import Column, Fact, Facts, Group, Spec, Table
from sonde.results.job import JobResults

_COLUMNS = (
    Column(name="name", title="Name", is_number=False),
    Column(name="value", title="Value", is_number=False),
)

_TITLES = {
    "sonde_python": "Python of Sonde",
    "nvidia_driver": "NVIDIA driver",
    "is_clean": "Everything committed",
}


class Environment(Chart):
    """Where and with what a job ran: command line, versions, machine, packages."""

    title = "Environment"
    pages = ("overview",)
    section = "environment"

    def build(self, job: JobResults) -> Spec | None:
        runs = job.summary["runs"]
        if not runs:
            return None
        run = runs[-1]
        parts: list[Spec] = [_facts(job, run)]
        for group, noun in (("packages", "package"), ("environment", "variable")):
            if run[group]:
                rows = tuple((name, str(value)) for name, value in run[group].items())
                title = pluralize(len(rows), noun)
                parts.append(Table(title=title, columns=_COLUMNS, rows=rows, is_quiet=True))
        return Group(title=self.title, parts=tuple(parts))


def _facts(job: JobResults, run: Mapping[str, Any]) -> Facts:
    facts = [
        ("command", "Command", shlex.join(run["command"])),
        ("folder", "Folder", run["folder"]),
        ("interval", "Interval of samples", format_value(run["interval_seconds"], "s")),
        ("nodes", "Nodes", f"{len(job.nodes):,}"),
        ("workers", "Workers", f"{len(job.workers):,}"),
    ]
    for group in ("versions", "machine", "git"):
        facts += [
            (f"{group}.{name}", _TITLES.get(name, _title(name)), _said(name, value))
            for name, value in run[group].items()
        ]
    told = tuple(Fact(name=name, title=title, value=text) for name, title, text in facts)
    return Facts(title=f"Run on {run['node']}", facts=told)


def _title(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ").capitalize()


def _said(name: str, value: object) -> str:
    """What is a size is told as one."""
    text = str(value)
    return (
        format_value(float(text), "bytes") if name.endswith("_bytes") and text.isdigit() else text
    )
