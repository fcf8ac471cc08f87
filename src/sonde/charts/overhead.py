"""Overhead of recording the job."""

from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.records.chart import Fact, Facts, Spec
from sonde.results.job import JobResults
from sonde.results.overhead import overhead_text


class Overhead(Chart):
    """Overhead: share of step time, CPU time, bytes written."""

    title = "Overhead"
    overview = OverviewPlace(
        OverviewSection.RECORDING, order=1, size=ChartSize.WIDE, title="Overhead of Sonde"
    )
    section = "environment"
    order = 2

    def build(self, job: JobResults) -> Spec | None:
        cost = job.summary["overhead"]
        if cost is None:
            return None
        units = {
            "hook_percent": ("Share of step time", "percent"),
            "launcher_percent": ("Share of one core", "percent"),
            "cpu_seconds": ("CPU time", "seconds"),
            "bytes_written": ("Data written", "bytes"),
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
