"""The confusion matrix of a boosted classifier."""

from sonde.charts._boosted import judged_classes
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Heatmap, Spec
from sonde.results.job import JobResults


class ConfusionMatrix(Chart):
    """For each label (row), the share of rows that are predicted as each class (column)."""

    title = "Confusion matrix"
    overview = OverviewPlace(OverviewSection.TREES, order=3)
    section = "trees"
    order = 3
    rules = ("Confusion",)

    def build(self, job: JobResults) -> Spec | None:
        item = judged_classes(job)
        if item is None:
            return None
        classes = tuple(f"class {label}" for label in item.latest.classes)
        return Heatmap(
            title=self.title,
            note=f"{item.note} Rows are labels, columns are predictions.",
            rows=classes,
            x=tuple(range(len(classes))),
            x_title="Prediction",
            values=tuple(
                tuple(100 * count / total if (total := sum(row)) else None for count in row)
                for row in item.latest.confusion
            ),
            unit="percent",
            low=0.0,
            high=100.0,
            columns=classes,
        )
