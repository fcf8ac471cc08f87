"""The share of correct predictions of each class over the rounds of a boosted classifier."""

from sonde.charts._boosted import judged_classes
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Curve, LineChart, Spec
from sonde.records.observations.boosting import PredictionQuality
from sonde.results.job import JobResults

_MAX_CLASSES = 12


class ClassAccuracy(Chart):
    """The diagonal of the confusion matrix over steps: correct predictions of each class."""

    title = "Accuracy by class"
    overview = OverviewPlace(OverviewSection.TREES, order=5)
    section = "trees"
    order = 5

    def build(self, job: JobResults) -> Spec | None:
        item = judged_classes(job)
        if item is None:
            return None
        classes = item.latest.classes
        qualities = [each for each in item.qualities if each.classes == classes]
        steps = [
            step
            for step, each in zip(item.steps, item.qualities, strict=True)
            if each.classes == classes
        ]
        final = [_correct_percent(item.latest, index) for index in range(len(classes))]
        lowest_first = sorted(range(len(classes)), key=lambda index: final[index] or 0.0)
        shown = sorted(lowest_first[:_MAX_CLASSES])
        return LineChart(
            title=self.title,
            note=item.note,
            coarsened=f"Only the {_MAX_CLASSES} least accurate of {len(classes)} classes are shown."
            if len(classes) > _MAX_CLASSES
            else "",
            x=tuple(steps),
            x_title="Step",
            unit="percent",
            curves=tuple(
                Curve(
                    label=f"class {classes[index]}",
                    values=tuple(_correct_percent(each, index) for each in qualities),
                    has_markers=True,
                )
                for index in shown
            ),
            low=0.0,
            high=100.0,
        )


def _correct_percent(quality: PredictionQuality, index: int) -> float | None:
    rows = sum(quality.confusion[index])
    return 100 * quality.confusion[index][index] / rows if rows else None
