"""Logged metrics, such as accuracy, over steps."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.records.step import MAX_STEPS
from sonde.results.curves import curves_over_steps
from sonde.results.job import JobResults

_OTHER_CHARTS = ("loss", "learning_rate", "gradient_norm", MAX_STEPS)
_MAX_CURVES = 8


class Metrics(Chart):
    """Logged metrics over steps, mean of all workers."""

    title = "Metrics"
    overview = OverviewPlace(OverviewSection.TRAINING, order=2)
    section = "tensors"
    order = 2

    def build(self, job: JobResults) -> Spec | None:
        scalars = job.scalars()
        logged = [name for name in scalars.names if name.partition("/")[0] not in _OTHER_CHARTS][
            :_MAX_CURVES
        ]
        if not logged:
            return None
        rows = scalars.reduced().to_arrow()
        is_logged = [each in logged for each in rows["name"].to_pylist()]
        return curves_over_steps(rows.filter(is_logged), self.title)
