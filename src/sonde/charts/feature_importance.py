"""The importance of features in a boosted model."""

from collections.abc import Mapping

from sonde.charts._boosted import latest_features
from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_percent
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.observations.boosting import ImportantFeatures
from sonde.results.job import JobResults

_KINDS = {
    "feature_importance/total_gain": "Total gain",
    "feature_importance/gain": "Gain per split",
    "feature_importance/weight": "Splits",
    "feature_importance/total_cover": "Total cover",
    "feature_importance/cover": "Cover per split",
    "average_shap": "Mean |SHAP|",
}
_MAX_ROWS = 20


class FeatureImportance(Chart):
    """The most important features by gain, splits, cover and SHAP values, in percent."""

    title = "Feature importance"
    overview = OverviewPlace(OverviewSection.TREES, order=2, size=ChartSize.WIDE)
    section = "trees"
    order = 2
    headline = 8
    rules = ("FeatureImportanceOverweight", "FeatureLeakage")

    def build(self, job: JobResults) -> Spec | None:
        recorded = latest_features(job)
        kinds = {kind: title for kind, title in _KINDS.items() if recorded.get(kind)}
        if not kinds:
            return None
        main = recorded[next(iter(kinds))]
        names = list(dict.fromkeys(name for kind in kinds for name in recorded[kind].names))[
            :_MAX_ROWS
        ]
        shares = {kind: _percentages(recorded[kind]) for kind in kinds}
        rows: list[tuple[Cell, ...]] = [
            (name, *(shares[kind].get(name) for kind in kinds)) for name in names
        ]
        tone = "training_loop"
        return Table(
            title=self.title,
            note=_note(main, next(iter(kinds.values()))),
            columns=(
                Column(name="feature", title="Feature", is_number=False),
                *(
                    Column(name=kind, title=title, unit="percent", tone=tone)
                    for kind, title in kinds.items()
                ),
            ),
            rows=tuple(rows),
            total=main.features if main.features > len(rows) else None,
        )


def _percentages(features: ImportantFeatures) -> Mapping[str, float]:
    """The share of each feature in the total of a kind."""
    total = features.total or 1.0
    values = zip(features.names, features.values, strict=False)
    return {name: 100 * value / total for name, value in values}


def _note(features: ImportantFeatures, title: str) -> str:
    if not features.values or not features.total:
        return ""
    share = format_percent(100 * features.values[0] / features.total)
    return f"{title}: {features.names[0]} {share}; {features.used:,} of {features.features:,} used."
