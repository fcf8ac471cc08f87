"""Learning rate over steps."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.results.curves import curves_over_steps
from sonde.results.job import JobResults


class LearningRate(Chart):
    """The learning rate over steps."""

    title = "Learning rate"
    overview = OverviewPlace(OverviewSection.TRAINING, order=4)
    section = "tensors"
    order = 3

    def build(self, job: JobResults) -> Spec | None:
        rows = job.scalars("learning_rate*", mode="train").reduced().to_arrow()
        return curves_over_steps(rows, self.title)
