"""Operator time by phase of the step."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.phase_lookup import readable_name

_DEVICES = {"gpu": "GPU", "cpu": "CPU"}


class OperatorPhases(Chart):
    """CPU and GPU operator time by phase of the step."""

    title = "Operators by phase"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=2)
    section = "framework"
    order = 5
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = {
            device: {str(row["name"]): row for row in rows}
            for device in _DEVICES
            if (rows := job.operators(device, worker=self.worker).phases().to_arrow().to_pylist())
        }
        phases = list(dict.fromkeys(name for rows in tables.values() for name in rows))
        if not phases:
            return None
        columns = [Column(name="phase", title="Phase", is_number=False)]
        for device in tables:
            columns += _columns(device)
        lines: list[tuple[Cell, ...]] = []
        for phase in phases:
            row: list[Cell] = [readable_name(phase)]
            for by_phase in tables.values():
                operator_row = by_phase.get(phase, {})
                row += [operator_row.get(name) for name in ("percent", "self_seconds", "calls")]
            lines.append(tuple(row))
        return Table(title=self.title, columns=tuple(columns), rows=tuple(lines))


def _columns(device: str) -> list[Column]:
    title = _DEVICES[device]
    return [
        Column(name=f"{device}_percent", title=f"{title} share", unit="percent", tone=device),
        Column(name=f"{device}_seconds", title=f"{title} time", unit="seconds"),
        Column(name=f"{device}_calls", title=f"{title} calls"),
    ]
