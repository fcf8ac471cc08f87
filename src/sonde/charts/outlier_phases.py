"""Time by phase: normal steps and outliers."""

import numpy as np

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.results.job import JobResults
from sonde.results.outlier_steps import step_outliers
from sonde.results.phase_lookup import in_order, spoken


class OutlierPhases(Chart):
    """Mean time per phase, of normal steps and of outliers."""

    title = "Normal steps and outliers by phase"
    pages = ("overview",)
    section = "steps"
    order = 5
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        found = list(step_outliers(job.steps(worker=self.worker).tables))
        outliers = sum(int(one.is_outlier.sum()) for one in found)
        if not outliers:
            return None
        phases = in_order([name for one in found for name in one.table.phases_ns])
        parts = []
        for name in phases:
            rows = [
                (one, one.table.phases_ns[name]) for one in found if name in one.table.phases_ns
            ]
            normal = np.concatenate([spent[one.is_normal] for one, spent in rows])
            long = np.concatenate([spent[one.is_outlier] for one, spent in rows])
            means = [
                float(part.mean()) / NANOSECONDS if len(part) else 0.0 for part in (normal, long)
            ]
            if any(means):
                parts.append(BarSeries(label=spoken(name), values=tuple(means), tone=name))
        more = {one.label: float(one.values[1] or 0) - float(one.values[0] or 0) for one in parts}
        most = max(more, key=lambda name: more[name])
        return StackedBars(
            title=self.title,
            note=(
                f"Outliers took {format_duration(sum(more.values()))} longer than normal steps on "
                f"average, {format_duration(more[most])} of it in {most}."
            ),
            labels=("normal steps", "outliers"),
            parts=tuple(parts),
            unit="seconds",
        )
