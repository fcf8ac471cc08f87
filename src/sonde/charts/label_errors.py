"""The error of a boosted regression by the size of the label."""

from sonde.charts._boosted import inspected_data
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Curve, LineChart, Spec
from sonde.results.job import JobResults


class LabelErrors(Chart):
    """Root mean square error over steps, by bin of the label."""

    title = "Error by label"
    overview = OverviewPlace(OverviewSection.TREES, order=8)
    section = "trees"
    order = 8

    def build(self, job: JobResults) -> Spec | None:
        inspected = [item for item in inspected_data(job) if item.latest.label_errors]
        if not inspected:
            return None
        item = inspected[0]
        edges = item.latest.label_edges
        rows = [
            (step, quality)
            for step, quality in zip(item.steps, item.qualities, strict=True)
            if len(quality.label_errors) == len(item.latest.label_errors)
        ]
        bins = [index for index, count in enumerate(item.latest.label_counts) if count]
        return LineChart(
            title=self.title,
            note=item.note,
            x=tuple(step for step, _ in rows),
            x_title="Step",
            curves=tuple(
                Curve(
                    label=f"{edges[index]:.3g} to {edges[index + 1]:.3g}",
                    values=tuple(quality.label_errors[index] for _, quality in rows),
                    has_markers=True,
                )
                for index in bins
            ),
        )
