"""How the time of a job divides into initialization, training loop and finalization."""

from sonde.charts._chart import Chart
from sonde.formats import format_duration, format_percent
from sonde.records.chart import Part, Spec, StackedBars
from sonde.results.job import JobResults
from sonde.results.phase_lookup import spoken


class Stages(Chart):
    """How the time of a job divides into initialization, training loop and finalization."""

    title = "Time by stage"
    pages = ("overview",)
    section = "summary"

    def build(self, job: JobResults) -> Spec | None:
        spans = job.stages.spans
        if not spans:
            return None
        said = [f"{spoken(one.stage)} {format_percent(one.percent, 1)}" for one in spans]
        whole = sum(one.seconds for one in spans)
        return StackedBars(
            title=self.title,
            note=f"Of {format_duration(whole)}: {', '.join(said)}.",
            labels=("job",),
            parts=tuple(
                Part(label=spoken(one.stage), values=(one.seconds,), tone=one.stage.value)
                for one in spans
            ),
            unit="seconds",
        )
