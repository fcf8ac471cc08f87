"""Learning rate over steps."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.records.need import Losses, Scalars
from sonde.results.curves import curves_over_steps, rows_within
from sonde.results.job import JobResults


class LearningRate(Chart):
    """The learning rate over steps."""

    title = "Learning rate"
    overview = OverviewPlace(OverviewSection.TRAINING, order=4)
    section = "tensors"
    order = 3
    takes_steps = True
    draws = (Scalars("learning_rate*"), Losses())

    def build(self, job: JobResults) -> Spec | None:
        rows = job.scalars("learning_rate*", mode="train").reduced().to_arrow()
        rows = rows_within(rows, self.steps)
        return curves_over_steps(rows, self.title)
