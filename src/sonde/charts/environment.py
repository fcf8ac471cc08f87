"""The environment of a job: machine, versions, command."""

import shlex
from collections.abc import Mapping
from typing import Any

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_bytes, format_count, format_duration, pluralize
from sonde.records.chart import Column, Fact, Facts, Group, Spec, Table
from sonde.results.job import JobResults

_COLUMNS = (
    Column(name="name", title="Name", is_number=False),
    Column(name="value", title="Value", is_number=False),
)

_TITLES = {
    "sonde_python": "Sonde's Python",
    "nvidia_driver": "NVIDIA driver",
    "is_clean": "Working tree clean",
}


class Environment(Chart):
    """Command line, versions, machine, packages and environment variables."""

    title = "Environment"
    overview = OverviewPlace(OverviewSection.RECORDING, order=3, size=ChartSize.WIDE)
    section = "environment"
    order = 1

    def build(self, job: JobResults) -> Spec | None:
        runs = job.summary["runs"]
        if not runs:
            return None
        run = runs[-1]
        specs: list[Spec] = [_facts(job, run)]
        for group, noun in (("packages", "package"), ("environment", "variable")):
            if run[group]:
                rows = tuple((name, str(value)) for name, value in run[group].items())
                title = pluralize(len(rows), noun)
                specs.append(Table(title=title, columns=_COLUMNS, rows=rows, is_quiet=True))
        return Group(title=self.title, parts=tuple(specs))


def _facts(job: JobResults, run: Mapping[str, Any]) -> Facts:
    facts = [
        ("command", "Command", shlex.join(run["command"])),
        ("folder", "Folder", run["folder"]),
        ("interval", "Sampling interval", format_duration(run["interval_seconds"])),
        ("nodes", "Nodes", format_count(len(job.nodes))),
        ("workers", "Workers", format_count(len(job.workers))),
    ]
    for group in ("versions", "machine", "git"):
        facts += [
            (f"{group}.{name}", _TITLES.get(name, _title(name)), _text(name, value))
            for name, value in run[group].items()
        ]
    return Facts(
        title=f"Run on {run['node']}",
        facts=tuple(Fact(name=name, title=title, value=text) for name, title, text in facts),
    )


def _title(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ").capitalize()


def _text(name: str, value: object) -> str:
    text = str(value)
    return format_bytes(float(text)) if name.endswith("_bytes") and text.isdigit() else text
