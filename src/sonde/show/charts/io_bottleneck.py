"""How often GPUs waited while the processors waited for disks."""

from sonde.show.bottlenecks import Question, bottleneck_chart
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.machines import IO_WAIT
from sonde.show.specs import Spec


class IoBottleneck(Chart):
    """The share of low GPU use at which the processors waited for disks."""

    title = "I/O bottlenecks"
    pages = ("overview",)
    section = "io"
    takes_node = True

    def build(self, job: JobView) -> Spec | None:
        asked = Question(self.title, IO_WAIT, "I/O wait was above 50 %", 50.0)
        return bottleneck_chart(job, asked, self.node)
