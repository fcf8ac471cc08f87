"""The labels of each data set of a boosted model."""

from sonde.charts._boosted import InspectedData, inspected_data
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.records.chart import Bars, BarSeries, Histogram, Spec
from sonde.results.job import JobResults


class LabelDistribution(Chart):
    """How many rows have each label, by data set."""

    title = "Labels"
    overview = OverviewPlace(OverviewSection.TREES, order=1)
    section = "trees"
    order = 1

    def build(self, job: JobResults) -> Spec | None:
        inspected = inspected_data(job)
        classes = [item for item in inspected if item.latest.confusion]
        if classes:
            return self._of_classes(classes)
        numbers = [item for item in inspected if item.latest.label_counts]
        return self._of_numbers(numbers[0]) if numbers else None

    def _of_classes(self, inspected: list[InspectedData]) -> Spec:
        labels = inspected[0].latest.classes
        counts = {item.label: [sum(row) for row in item.latest.confusion] for item in inspected}
        first = next(iter(counts.values()))
        return Bars(
            title=self.title,
            note=f"Rows per class: {min(first):,} to {max(first):,}.",
            labels=tuple(f"class {label}" for label in labels),
            parts=tuple(
                BarSeries(label=label, values=tuple(values))
                for label, values in counts.items()
                if len(values) == len(labels)
            ),
        )

    def _of_numbers(self, item: InspectedData) -> Spec:
        return Histogram(
            title=self.title,
            note=f"Rows of {item.label}: {item.latest.compared:,}.",
            edges=item.latest.label_edges,
            parts=(BarSeries(label=item.label, values=item.latest.label_counts),),
            counted="rows",
        )
