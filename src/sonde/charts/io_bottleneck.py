"""How often GPUs were idle while the CPU waited for I/O."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.results.bottlenecks import Question, bottleneck_chart
from sonde.results.job import JobResults
from sonde.results.machines import IO_WAIT


class IoBottleneck(Chart):
    """Share of samples with low GPU utilization and high I/O wait."""

    title = "I/O bottlenecks"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=7)
    section = "io"
    rules = ("IOBottleneck",)
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        question = Question(self.title, IO_WAIT, "I/O wait above 50%", 50.0)
        return bottleneck_chart(job, question, self.node)
