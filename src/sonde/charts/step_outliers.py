"""The training steps that took much longer than usual, and what they spent it on."""

from typing import Any

import numpy as np

from sonde.charts._chart import Chart
from sonde.clock import iso
from sonde.formats import format_duration, format_percent, pluralize
from sonde.records.chart import Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.outlier_steps import StepOutliers as Found
from sonde.results.outlier_steps import excesses, step_outliers
from sonde.results.phase_lookup import spoken

_SHOWN = 20
_TOO_MANY = 0.1  # of the steps: what is as frequent is no exception


class StepOutliers(Chart):
    """The steps that took longest, each with the phase that took more than usual."""

    title = "Step outliers"
    pages = ("overview",)
    section = "steps"
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        found = list(step_outliers(job.steps(worker=self.worker).tables))
        rows = [row for one in found for row in _rows(one)]
        if not rows:
            return None
        rows.sort(key=lambda row: -row[3])
        lost = sum(
            float((one.seconds[one.is_outlier] - np.median(one.seconds[one.is_normal])).sum())
            for one in found
            if one.is_outlier.any() and one.is_normal.any()
        )
        whole = sum(float(one.seconds.sum()) for one in found)
        note = (
            f"{pluralize(len(rows), 'training step')} took longer than the median by half of it and "
            f"by three deviations at least; together {format_duration(lost)} more than the median "
            f"({format_percent(100 * lost / whole, 1)} of the time of all steps)."
        )
        if len(rows) > _TOO_MANY * sum(len(one.seconds) for one in found):
            note += (
                " So many do not lie out of line: the steps differ widely, and the rule "
                "StepOutlier counts only those that lie outside of that."
            )
        return Table(
            title=self.title,
            note=note,
            columns=(
                Column(name="step", title="Step"),
                Column(name="worker", title="Worker"),
                Column(name="time", title="Time", unit="time", is_number=False),
                Column(name="seconds", title="Duration", unit="seconds"),
                Column(name="phase", title="Most of it in", is_number=False),
                Column(name="excess", title="Longer than usual by", unit="seconds"),
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
