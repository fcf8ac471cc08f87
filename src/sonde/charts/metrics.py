"""Logged metrics, such as accuracy, over steps."""

from sonde.charts._chart import Chart
from sonde.records.chart import Spec
from sonde.results.curves import curves_over_steps
from sonde.results.job import JobResults

_OTHERS = ("loss", "learning_rate", "gradient_norm")
_MOST = 8


class Metrics(Chart):
    """Logged metrics over steps, mean of all workers."""

    title = "Metrics"
    pages = ("overview",)
    section = "tensors"
    order = 2

    def build(self, job: JobResults) -> Spec | None:
        scalars = job.scalars()
        own = [name for name in scalars.names if name.partition("/")[0] not in _OTHERS][:_MOST]
        if not own:
            return None
        rows = scalars.reduced().to_arrow()
        is_own = [one in own for one in rows["name"].to_pylist()]
        return curves_over_steps(rows.filter(is_own), self.title)
