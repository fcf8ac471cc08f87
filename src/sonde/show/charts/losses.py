"""Losses over steps, of training and evaluation."""

from dataclasses import replace

from sonde.show.charts._chart import Chart
from sonde.show.curves import curves_over_steps
from sonde.show.job_view import JobView
from sonde.show.specs import Spec


class Losses(Chart):
    """Losses over steps: the mean of the workers."""

    title = "Losses"
    pages = ("overview",)
    section = "tensors"

    def build(self, job: JobView) -> Spec | None:
        chart = curves_over_steps(job.losses.reduced().to_arrow(), self.title)
        if chart is None:
            return None
        said = [
            f"{label} {one['value']:.4g} at step {one['step']:,}"
            for label, one in job.summary["losses"].items()
        ]
        return replace(chart, note=f"The last loss: {'; '.join(said)}." if said else "")
