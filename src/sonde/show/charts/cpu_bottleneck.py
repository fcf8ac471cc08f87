"""How often GPUs waited while the processors were at their limit."""

from sonde.show.bottlenecks import Question, bottleneck_chart
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.machines import CPU
from sonde.show.specs import Spec


class CpuBottleneck(Chart):
    """The share of low GPU use at which the processors were at their limit."""

    title = "CPU bottlenecks"
    pages = ("overview",)
    section = "cpu"
    takes_node = True

    def build(self, job: JobView) -> Spec | None:
        asked = Question(self.title, CPU, "the CPU was above 90 %", 90.0)
        return bottleneck_chart(job, asked, self.node)
