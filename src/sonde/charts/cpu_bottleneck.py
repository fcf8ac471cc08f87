"""How often GPUs waited while the processors were at their limit."""

from sonde.charts._chart import Chart
from sonde.records.chart import Spec
from sonde.results.bottlenecks import Question, bottleneck_chart
from sonde.results.job import JobResults
from sonde.results.machines import CPU


class CpuBottleneck(Chart):
    """The share of low GPU use at which the processors were at their limit."""

    title = "CPU bottlenecks"
    pages = ("overview",)
    section = "cpu"
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        asked = Question(self.title, CPU, "the CPU was above 90 %", 90.0)
        return bottleneck_chart(job, asked, self.node)
