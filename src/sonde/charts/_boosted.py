"""Inspections of boosted models for charts: those of the latest training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import ImportantFeatures, PredictionQuality
from sonde.results.job import JobResults

_QUALITY = ObservationKind.PREDICTION_QUALITY.value
_IMPORTANCE = ObservationKind.FEATURE_IMPORTANCE.value
_TRAINING = ObservationKind.NEW_OPTIMIZER.value


@dataclass(frozen=True, slots=True)
class InspectedData:
    """The predictions for one data set: one entry per inspected round, in order."""

    name: str
    steps: tuple[int, ...]
    qualities: tuple[PredictionQuality, ...]

    @property
    def latest(self) -> PredictionQuality:
        """The predictions after the last inspected round."""
        return self.qualities[-1]

    @property
    def label(self) -> str:
        """Its name, and whether the model trains on it."""
        return f"{self.name} (trained on)" if self.latest.is_training_data else self.name

    @property
    def note(self) -> str:
        """Which predictions a chart of the last inspection shows."""
        compared, rows = self.latest.compared, self.latest.rows
        sample = f" ({compared:,} evenly spaced rows of {rows:,})" if compared < rows else ""
        return f"Predictions for {self.label}{sample} after step {self.steps[-1]:,}."


def inspected_data(job: JobResults) -> list[InspectedData]:
    """All data sets with inspected predictions; data that is not trained on first."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in _latest_rows(job, _QUALITY):
        rows.setdefault(row["subject"], []).append(row)
    inspected = [
        InspectedData(
            name,
            tuple(row["step"] for row in of_name),
            tuple(PredictionQuality.decode(row["detail"]) for row in of_name),
        )
        for name, of_name in rows.items()
    ]
    return sorted(inspected, key=lambda item: item.latest.is_training_data)


def judged_classes(job: JobResults) -> InspectedData | None:
    """The data set whose classes charts show: one that is not trained on, if there is any."""
    return next((item for item in inspected_data(job) if item.latest.confusion), None)


def latest_features(job: JobResults) -> dict[str, ImportantFeatures]:
    """The importance of features after the last inspected round, by kind."""
    return {
        row["subject"]: ImportantFeatures.decode(row["detail"])
        for row in _latest_rows(job, _IMPORTANCE)
    }


def _latest_rows(job: JobResults, kind: str) -> Sequence[dict[str, Any]]:
    """The observations of the first worker in its latest training that has any."""
    rows = _rows(job, kind)
    if not rows:
        return []
    worker = min(row["worker"] for row in rows)
    rows = [row for row in rows if row["worker"] == worker]
    starts = _rows(job, _TRAINING)
    last = rows[-1]["step"]
    begin = max(
        (start["step"] for start in starts if start["worker"] == worker and start["step"] <= last),
        default=0,
    )
    latest = {(row["subject"], row["step"]): row for row in rows if row["step"] >= begin}
    return sorted(latest.values(), key=lambda row: row["step"])


def _rows(job: JobResults, kind: str) -> list[dict[str, Any]]:
    table = job.observations(kind).to_arrow()
    if not table.num_rows:
        return []
    columns = ["subject", "worker", "step", "detail"]  # times need pandas
    rows: list[dict[str, Any]] = table.select(columns).to_pylist()
    return rows
