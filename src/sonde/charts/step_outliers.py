"""Training steps that took much longer than the median, and the phase that was slow."""

from typing import Any

from sonde.charts._chart import Chart
from sonde.clock import iso
from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.chart import Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.outlier_steps import StepOutliers as Found
from sonde.results.outlier_steps import excesses, step_outliers
from sonde.results.phase_lookup import spoken

_SHOWN = 20
_TOO_MANY = 0.1  # share of all steps above which they are not called outliers


class StepOutliers(Chart):
    """The longest training steps, each with the phase that exceeded its median most."""

    title = "Step outliers"
    pages = ("overview",)
    section = "steps"
    order = 4
    rules = ("StepOutlier",)
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        found = list(step_outliers(job.steps(worker=self.worker).tables))
        rows = [row for one in found for row in _rows(one)]
        if not rows:
            return None
        rows.sort(key=lambda row: -row[3])
        lost = sum(
            float((one.seconds[one.is_outlier] - one.median_seconds).sum())
            for one in found
            if one.is_outlier.any() and one.is_normal.any()
        )
        whole = sum(float(one.seconds.sum()) for one in found)
        note = (
            f"{pluralize(len(rows), 'training step')} exceeded both 1.5× the median and the median "
            f"plus three robust standard deviations, by {format_duration(lost)} in total "
            f"({format_percent(100 * lost / whole, 1)} of step time)."
        )
        if len(rows) > _TOO_MANY * sum(len(one.seconds) for one in found):
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
                Column(name="phase", title="Slowest phase", is_number=False),
                Column(name="excess", title="Excess over median", unit="seconds"),
            ),
            rows=tuple(rows[:_SHOWN]),
            total=len(rows),
        )


def _rows(one: Found) -> list[Any]:
    table = one.table
    return [
        (
            int(table.steps[found.place]),
            table.worker,
            iso(int(table.starts_ns[found.place])),
            float(one.seconds[found.place]),
            spoken(found.phase),
            found.seconds,
        )
        for found in excesses(one)
    ]
