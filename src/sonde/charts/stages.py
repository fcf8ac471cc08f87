"""Job time by stage."""

from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.formats import format_duration, format_percent
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.results.job import JobResults
from sonde.results.phase_lookup import readable_name


class Stages(Chart):
    """Job time by stage: initialization, training loop, finalization."""

    title = "Time by stage"
    overview = OverviewPlace(
        OverviewSection.SUMMARY, order=1, title="Job summary", empty="No training steps recorded."
    )
    section = "summary"
    order = 2

    def build(self, job: JobResults) -> Spec | None:
        spans = job.stages.spans
        if not spans:
            return None
        texts = [f"{readable_name(span.stage)} {format_percent(span.percent)}" for span in spans]
        total = sum(span.seconds for span in spans)
        return StackedBars(
            title=self.title,
            note=f"{format_duration(total)} in total: {', '.join(texts)}.",
            labels=("job",),
            parts=tuple(
                BarSeries(
                    label=readable_name(span.stage), values=(span.seconds,), tone=span.stage.value
                )
                for span in spans
            ),
            unit="seconds",
        )
