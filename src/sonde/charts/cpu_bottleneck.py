"""How often GPUs were idle while the CPU was saturated."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Spec
from sonde.results.bottlenecks import Question, bottleneck_chart
from sonde.results.job import JobResults
from sonde.results.machines import CPU


class CpuBottleneck(Chart):
    """Share of samples with low GPU utilization and a saturated CPU."""

    title = "CPU bottlenecks"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=6)
    section = "cpu"
    rules = ("CPUBottleneck",)
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        question = Question(self.title, CPU, "CPU utilization above 90%", 90.0)
        return bottleneck_chart(job, question, self.node)
