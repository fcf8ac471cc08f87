"""What the hook observes about boosted trees: predictions, importance, shapes, parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sonde.records.observations.observation_record import ObservationRecord


class Task(StrEnum):
    """What a boosted model predicts."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


@dataclass(frozen=True)
class PredictionQuality(ObservationRecord):
    """The predictions of a model for one data set, compared with the labels."""

    task: Task = Task.REGRESSION
    rows: int = 0  # of the data set
    compared: int = 0  # rows that the numbers below are computed from
    is_training_data: bool = False
    # classification: the label of each class, and counts by label (rows) and prediction (columns)
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    # binary: the true positive rate at evenly spaced false positive rates from 0 to 1
    true_positive_rates: tuple[float, ...] = ()
    auc: float | None = None
    # regression: counts of prediction minus label between edges
    residual_edges: tuple[float, ...] = ()
    residuals: tuple[int, ...] = ()
    # regression: bins of the label, with their rows and root mean square error
    label_edges: tuple[float, ...] = ()
    label_counts: tuple[int, ...] = ()
    label_errors: tuple[float | None, ...] = ()
    r_squared: float | None = None

    def _facts(self) -> Mapping[str, Any]:
        return {name: value for name, value in super()._facts().items() if value not in (None, ())}


@dataclass(frozen=True)
class ImportantFeatures(ObservationRecord):
    """The importance of the features of a model: the largest ones."""

    names: tuple[str, ...] = ()
    values: tuple[float, ...] = ()  # in descending order
    features: int = 0  # of the training data
    used: int = 0  # with an importance above zero
    total: float = 0.0  # sum over all features


@dataclass(frozen=True)
class TreeShapes(ObservationRecord):
    """The trees that one boosting round has added."""

    trees: int = 0
    depth: int = 0  # of the deepest tree; a single split has depth 1
    leaves: int = 0  # of the tree with the most leaves
    rows: int = 0  # of the training data


@dataclass(frozen=True)
class Hyperparameters(ObservationRecord):
    """The parameters that a model is trained with."""

    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EarlyStop(ObservationRecord):
    """The best round according to early stopping."""

    score: float | None = None
    rounds: int = 0  # in this training
    is_stopped: bool = False  # whether training ended because of it
