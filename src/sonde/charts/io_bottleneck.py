"""How often GPUs waited while the processors waited for disks."""

from sonde.charts._chart import Chart
from sonde.records.chart import Spec
from sonde.results.bottlenecks import Question, bottleneck_chart
from sonde.results.job import JobResults
from sonde.results.machines import IO_WAIT


class IoBottleneck(Chart):
    """The share of low GPU use at which the processors waited for disks."""

    title = "I/O bottlenecks"
    pages = ("overview",)
    section = "io"
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        asked = Question(self.title, IO_WAIT, "I/O wait was above 50 %", 50.0)
        return bottleneck_chart(job, asked, self.node)
