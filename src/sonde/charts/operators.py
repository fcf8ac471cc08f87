"""The most expensive CPU and GPU operators."""

from collections.abc import Mapping
from typing import Any

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.chart import Cell, Column, Group, Spec, Table
from sonde.results.job import JobResults
from sonde.results.operators import Operators as OperatorTime
from sonde.results.operators import significant_rows

_SHOWN = 20
_DEVICES = {"gpu": "GPU operators", "cpu": "CPU operators"}
_UNNAMED = "(none)"
_NOT_PROFILED = (
    "No operator profile recorded. Use “Profile now” for a running job, "
    "or sonde run --profile for a new one."
)


class Operators(Chart):
    """The CPU and GPU operators that took the most time."""

    title = "Resource intensive operations"
    overview = OverviewPlace(
        OverviewSection.OPERATIONS, order=1, size=ChartSize.WIDE, empty=_NOT_PROFILED
    )
    section = "framework"
    order = 4
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = [
            table
            for device in _DEVICES
            if (table := operator_table(job.operators(device, worker=self.worker), device))
        ]
        return Group(title=self.title, parts=tuple(tables)) if tables else None


def operator_table(operators: OperatorTime, device: str) -> Table | None:
    """The operators of a device, highest self time first."""
    rows = significant_rows(operators.top(_SHOWN).to_arrow().to_pylist())
    if not rows:
        return None
    return Table(
        title=_DEVICES[device],
        note=_sentence(rows[0], operators, device),
        columns=(
            Column(name="name", title="Operator", is_number=False),
            Column(name="percent", title="Share of time", unit="percent", tone=device),
            Column(name="self_seconds", title="Self time", unit="seconds"),
            Column(name="total_seconds", title="Total time", unit="seconds"),
            Column(name="calls", title="Calls"),
        ),
        rows=tuple(map(_row, rows)),
        total=len(operators),
    )


def _row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    numbers = (row[name] for name in ("percent", "self_seconds", "total_seconds", "calls"))
    return (row["name"] or _UNNAMED, *numbers)


def _sentence(first: Mapping[str, Any], operators: OperatorTime, device: str) -> str:
    name = first["name"] or _UNNAMED
    return (
        f"Most expensive {device.upper()} operator: {name} with "
        f"{format_percent(first['percent'])} of the time "
        f"({format_duration(first['self_seconds'])} in {pluralize(first['calls'], 'call')}). "
        f"Based on {pluralize(operators.steps, 'profiled step')}."
    )
