"""Time by phase: normal steps and outliers."""

import numpy as np

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.results.job import JobResults
from sonde.results.outlier_steps import step_outliers
from sonde.results.phase_lookup import in_order, readable_name


class OutlierPhases(Chart):
    """Mean time per phase, of normal steps and of outliers."""

    title = "Normal steps and outliers by phase"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=6)
    section = "steps"
    order = 5
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        groups = list(step_outliers(job.steps(worker=self.worker).tables))
        outliers = sum(int(each.is_outlier.sum()) for each in groups)
        if not outliers:
            return None
        phases = in_order([name for each in groups for name in each.table.phases_ns])
        bars = []
        for name in phases:
            rows = [
                (each, each.table.phases_ns[name])
                for each in groups
                if name in each.table.phases_ns
            ]
            normal = np.concatenate([seconds[row.is_normal] for row, seconds in rows])
            long = np.concatenate([seconds[row.is_outlier] for row, seconds in rows])
            means = [
                float(spent_ns.mean()) / NANOSECONDS if len(spent_ns) else 0.0
                for spent_ns in (normal, long)
            ]
            if any(means):
                bars.append(BarSeries(label=readable_name(name), values=tuple(means), tone=name))
        excess = {
            each.label: float(each.values[1] or 0) - float(each.values[0] or 0) for each in bars
        }
        slowest = max(excess, key=lambda name: excess[name])
        return StackedBars(
            title=self.title,
            note=(
                f"Outliers took {format_duration(sum(excess.values()))} longer than normal "
                f"steps on average, {format_duration(excess[slowest])} of it in {slowest}."
            ),
            labels=("normal steps", "outliers"),
            parts=tuple(bars),
            unit="seconds",
        )
