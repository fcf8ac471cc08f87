"""What was inspected of boosted models in a window."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.read.window import Window
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import ImportantFeatures, PredictionQuality, Task

QUALITY = Observations(ObservationKind.PREDICTION_QUALITY.value)
IMPORTANCE = Observations(ObservationKind.FEATURE_IMPORTANCE.value)


@dataclass(frozen=True, slots=True)
class InspectedData:
    """The quality of the predictions for one data set after one round."""

    name: str
    step: int
    quality: PredictionQuality


@dataclass(frozen=True, slots=True)
class InspectedFeatures:
    """The importance of features after one round."""

    subject: str  # its kind
    step: int
    features: ImportantFeatures

    def share(self, count: int) -> float:
        """The share of the total that the most important features hold."""
        total = self.features.total
        return sum(self.features.values[:count]) / total if total else 0.0


def inspected_data(window: Window) -> Iterator[InspectedData]:
    """The inspected predictions of a window, in order."""
    for observation in window.observations(QUALITY.kind):
        quality = PredictionQuality.of(observation)
        yield InspectedData(observation.subject, observation.step, quality)


def inspected_features(window: Window) -> Iterator[InspectedFeatures]:
    """The inspected importance of features of a window, in order."""
    for observation in window.observations(IMPORTANCE.kind):
        features = ImportantFeatures.of(observation)
        yield InspectedFeatures(observation.subject, observation.step, features)


def accuracy(quality: PredictionQuality) -> float | None:
    """The share of correct predictions; None for regression."""
    total = sum(map(sum, quality.confusion))
    if not total:
        return None
    return sum(row[index] for index, row in enumerate(quality.confusion)) / total


def balanced_accuracy(quality: PredictionQuality) -> float | None:
    """The mean over all classes of the share of correct predictions."""
    shares = [row[index] / sum(row) for index, row in enumerate(quality.confusion) if sum(row)]
    return sum(shares) / len(shares) if len(shares) > 1 else None


def score(quality: PredictionQuality) -> float | None:
    """How good predictions are; 1 is perfect: AUC, balanced accuracy or R²."""
    if quality.task is Task.BINARY and quality.auc is not None:
        return quality.auc
    return quality.r_squared if quality.task is Task.REGRESSION else balanced_accuracy(quality)
