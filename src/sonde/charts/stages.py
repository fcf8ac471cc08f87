"""Job time by stage."""

from sonde.charts._chart import Chart
from sonde.formats import format_duration, format_percent
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.results.job import JobResults
from sonde.results.phase_lookup import spoken


class Stages(Chart):
    """Job time by stage: initialization, training loop, finalization."""

    title = "Time by stage"
    pages = ("overview",)
    section = "summary"
    order = 2

    def build(self, job: JobResults) -> Spec | None:
        spans = job.stages.spans
        if not spans:
            return None
        said = [f"{spoken(one.stage)} {format_percent(one.percent, 1)}" for one in spans]
        whole = sum(one.seconds for one in spans)
        return StackedBars(
            title=self.title,
            note=f"{format_duration(whole)} in total: {', '.join(said)}.",
            labels=("job",),
            parts=tuple(
                BarSeries(label=spoken(one.stage), values=(one.seconds,), tone=one.stage.value)
                for one in spans
            ),
            unit="seconds",
        )
