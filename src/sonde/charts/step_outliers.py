"""Training steps that took much longer than the median, and the phase that was slow."""

from typing import Any

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.clock import iso
from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.chart import Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.outlier_steps import StepOutliers as OutlierGroup
from sonde.results.outlier_steps import excesses, step_outliers
from sonde.results.phase_lookup import readable_name

_SHOWN = 20
_MAX_SHARE = 0.1  # share of all steps above which they are not called outliers


class StepOutliers(Chart):
    """The longest training steps, each with the phase that exceeded its median most."""

    title = "Step outliers"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=8, size=ChartSize.WIDE)
    section = "steps"
    order = 4
    rules = ("StepOutlier",)
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        groups = list(step_outliers(job.steps(worker=self.worker).tables))
        rows = [row for each in groups for row in _rows(each)]
        if not rows:
            return None
        rows.sort(key=lambda row: -row[3])
        lost = sum(
            float((each.seconds[each.is_outlier] - each.median_seconds).sum())
            for each in groups
            if each.is_outlier.any() and each.is_normal.any()
        )
        total = sum(float(each.seconds.sum()) for each in groups)
        note = (
            f"{pluralize(len(rows), 'training step')} exceeded both 1.5× the median and the median "
            f"plus three robust standard deviations. Together they took {format_duration(lost)} "
            f"more than the median ({format_percent(100 * lost / total)} of step time)."
        )
        if len(rows) > _MAX_SHARE * sum(len(each.seconds) for each in groups):
            note += (
                " These are too many to call outliers: step durations vary widely. The rule "
                "StepOutlier takes this variation into account."
            )
        return Table(
            title=self.title,
            note=note,
            columns=(
                Column(name="step", title="Step"),
                Column(name="worker", title="Worker"),
                Column(name="time", title="Time", unit="time", is_number=False),
                Column(name="seconds", title="Duration", unit="seconds"),
                Column(name="phase", title="Slow phase", is_number=False),
                Column(name="excess", title="Excess over median", unit="seconds"),
            ),
            rows=tuple(rows[:_SHOWN]),
            total=len(rows),
        )


def _rows(outliers: OutlierGroup) -> list[Any]:
    table = outliers.table
    return [
        (
            int(table.steps[excess.index]),
            table.worker,
            iso(int(table.starts_ns[excess.index])),
            float(outliers.seconds[excess.index]),
            readable_name(excess.phase),
            excess.seconds,
        )
        for excess in excesses(outliers)
    ]
