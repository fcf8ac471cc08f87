"""The interface through which a boosted model is inspected; adapters implement it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.hook.boosting.objectives import Array, Objective
from sonde.records.observations.boosting import TreeShapes


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set that a model trains on, or is evaluated on."""

    name: str
    data: Any  # the library's own object
    rows: int
    is_training_data: bool


class BoostedModel(ABC):
    """A model in training; no method changes it."""

    library: str
    data_sets: Sequence[DataSet]  # the training data first

    @abstractmethod
    def is_of(self, booster: Any) -> bool:
        """Whether this is the model of a booster."""

    @property
    @abstractmethod
    def objective(self) -> Objective | None:
        """The objective; None if it is not known how to compute its loss."""

    @property
    @abstractmethod
    def feature_names(self) -> Sequence[str]:
        """The names of the features."""

    @abstractmethod
    def hyperparameters(self) -> Mapping[str, str]:
        """The parameters of the training."""

    @abstractmethod
    def margins(self, data_set: DataSet) -> Array:
        """The raw predictions for a data set."""

    @abstractmethod
    def labels(self, data_set: DataSet) -> Array:
        """The labels of a data set."""

    @abstractmethod
    def weights(self, data_set: DataSet) -> Array | None:
        """The weights of its rows; None if they are equal."""

    @abstractmethod
    def importance(self) -> Mapping[str, Array]:
        """The importance of all features, by kind."""

    @abstractmethod
    def contributions(self, data_set: DataSet, rows: int) -> Array | None:
        """SHAP values of evenly spaced rows: by row, (class) and feature; the bias is last."""

    @abstractmethod
    def trees(self, data_set: DataSet) -> TreeShapes | None:
        """The trees of the last round; None if it is not a model of trees."""
