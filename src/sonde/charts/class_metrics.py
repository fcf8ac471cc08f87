"""Precision, recall and F1 score of each class of a boosted classifier."""

from sonde.charts._boosted import judged_classes
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.formats import format_percent
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.observations.boosting import PredictionQuality
from sonde.results.job import JobResults


class ClassMetrics(Chart):
    """Precision, recall and F1 score by class."""

    title = "Evaluation of the confusion matrix"
    overview = OverviewPlace(OverviewSection.TREES, order=4)
    section = "trees"
    order = 4
    rules = ("Confusion",)

    def build(self, job: JobResults) -> Spec | None:
        item = judged_classes(job)
        if item is None:
            return None
        quality = item.latest
        correct = sum(row[index] for index, row in enumerate(quality.confusion))
        accuracy = format_percent(100 * correct / max(1, quality.compared))
        auc = "" if quality.auc is None else f", AUC {quality.auc:.4g}"
        return Table(
            title=self.title,
            note=f"{item.note} Accuracy {accuracy}{auc}.",
            columns=(
                Column(name="class", title="Class", is_number=False),
                Column(name="rows", title="Rows"),
                Column(name="precision", title="Precision", unit="percent"),
                Column(name="recall", title="Recall", unit="percent", tone="training_loop"),
                Column(name="f1", title="F1 score", unit="percent"),
            ),
            rows=tuple(_row(quality, index) for index in range(len(quality.classes))),
        )


def _row(quality: PredictionQuality, index: int) -> tuple[Cell, ...]:
    """The metrics of one class; empty where there is nothing to divide by."""
    hits, rows = quality.confusion[index][index], sum(quality.confusion[index])
    predicted = sum(row[index] for row in quality.confusion)
    precision = 100 * hits / predicted if predicted else None
    recall = 100 * hits / rows if rows else None
    f1 = 200 * hits / (rows + predicted) if rows + predicted else None
    return (quality.classes[index], rows, precision, recall, f1)
