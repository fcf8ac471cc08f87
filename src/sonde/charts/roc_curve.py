"""The ROC curve of a boosted model for two classes."""

from sonde.charts._boosted import inspected_data
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Curve, LineChart, Spec
from sonde.results.job import JobResults


class RocCurve(Chart):
    """True positive rate over false positive rate, by data set."""

    title = "ROC curve"
    overview = OverviewPlace(OverviewSection.TREES, order=6)
    section = "trees"
    order = 6

    def build(self, job: JobResults) -> Spec | None:
        inspected = [item for item in inspected_data(job) if item.latest.true_positive_rates]
        if not inspected:
            return None
        points = len(inspected[0].latest.true_positive_rates)
        rates = [100 * index / (points - 1) for index in range(points)]
        areas = "; ".join(
            f"{item.label} {item.latest.auc:.4g}"
            for item in inspected
            if item.latest.auc is not None
        )
        return LineChart(
            title=self.title,
            note=f"Area under the curve: {areas}.",
            x=tuple(rates),
            x_title="False positive rate",
            x_unit="percent",
            unit="percent",
            curves=tuple(
                Curve(
                    label=item.label,
                    values=tuple(100 * rate for rate in item.latest.true_positive_rates),
                )
                for item in inspected
                if len(item.latest.true_positive_rates) == points
            ),
            low=0.0,
            high=100.0,
        )
