"""How the time of a job divides into initialization, training loop and finalization."""

from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.phases import spoken
from sonde.show.specs import Part, Spec, StackedBars
from sonde.show.units import duration, percent


class Stages(Chart):
    """How the time of a job divides into initialization, training loop and finalization."""

    title = "Time by stage"
    pages = ("overview",)
    section = "summary"

    def build(self, job: JobView) -> Spec | None:
        spans = job.stages.spans
        if not spans:
            return None
        said = [f"{spoken(one.stage)} {percent(one.percent, 1)}" for one in spans]
        whole = sum(one.seconds for one in spans)
        return StackedBars(
            title=self.title,
            note=f"Of {duration(whole)}: {', '.join(said)}.",
            labels=("job",),
            parts=tuple(
                Part(label=spoken(one.stage), values=(one.seconds,), tone=one.stage.value)
                for one in spans
            ),
            unit="seconds",
        )
