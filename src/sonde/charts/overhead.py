"""What watching the job cost."""

from sonde.charts._chart import Chart
from sonde.records.chart import Fact, Facts, Spec
from sonde.results.job import JobResults
from sonde.results.overhead import overhead_text


class Overhead(Chart):
    """What watching the job cost: time of the training thread, processor time, bytes."""

    title = "Overhead"
    pages = ("overview",)
    section = "environment"

    def build(self, job: JobResults) -> Spec | None:
        cost = job.summary["overhead"]
        if cost is None:
            return None
        units = {
            "hook_percent": ("Of the training steps", "percent"),
            "launcher_percent": ("Of one core", "percent"),
            "cpu_seconds": ("Processor time", "seconds"),
            "bytes_written": ("Written", "bytes"),
        }
        return Facts(
            title=self.title,
            note=f"Overhead: {overhead_text(cost)}.",
            facts=tuple(
                Fact(name=name, title=title, value=cost[name], unit=unit)
                for name, (title, unit) in units.items()
                if cost[name] is not None
            ),
        )
