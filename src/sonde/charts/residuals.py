"""The distribution of the errors of a boosted regression."""

from sonde.charts._boosted import inspected_data
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import BarSeries, Histogram, Spec
from sonde.results.job import JobResults


class Residuals(Chart):
    """Prediction minus label, of data that is not trained on if there is any."""

    title = "Residuals"
    overview = OverviewPlace(OverviewSection.TREES, order=7)
    section = "trees"
    order = 7

    def build(self, job: JobResults) -> Spec | None:
        inspected = [item for item in inspected_data(job) if item.latest.residuals]
        if not inspected:
            return None
        item = inspected[0]
        fit = item.latest.r_squared
        quality = "" if fit is None else f" R² {fit:.4g}."
        return Histogram(
            title=self.title,
            note=f"{item.note}{quality} Values beyond the outer 0.5% are in the outer bins.",
            edges=item.latest.residual_edges,
            parts=(BarSeries(label=item.label, values=item.latest.residuals),),
            counted="rows",
        )
