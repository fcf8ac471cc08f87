"""The learning rate over steps."""

from sonde.show.charts._chart import Chart
from sonde.show.curves import curves_over_steps
from sonde.show.job_view import JobView
from sonde.show.specs import Spec


class LearningRate(Chart):
    """The learning rate over steps."""

    title = "Learning rate"
    pages = ("overview",)
    section = "tensors"

    def build(self, job: JobView) -> Spec | None:
        rows = job.scalars("learning_rate*", mode="train").reduced().to_arrow()
        return curves_over_steps(rows, self.title)
