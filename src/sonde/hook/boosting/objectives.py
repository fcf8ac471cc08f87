"""What a boosted model predicts, and its loss, computed from its raw predictions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.observations.boosting import Task

Array = npt.NDArray[np.floating]
Loss = Callable[[Array, Array], Array]  # of predictions and labels: one value per row

_SMALLEST = 1e-16  # probabilities, as in XGBoost


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective: how raw predictions become predictions, and the loss of a row."""

    task: Task
    link: Callable[[Array], Array]
    loss_name: str  # as the library names it
    loss: Loss
    is_rooted: bool = False  # whether the loss is the root of the mean

    def mean_loss(self, margins: Array, labels: Array, weights: Array | None) -> float:
        """The loss of a data set.

        Args:
            margins: Raw predictions: a value per row, or per row and class.
            labels: The labels.
            weights: The weights of rows; None if they are equal.
        """
        losses = self.loss(self.link(margins), labels)
        mean = float(np.average(losses, weights=weights))
        return float(np.sqrt(mean)) if self.is_rooted else mean


def identity(margins: Array) -> Array:
    """Return raw predictions as they are."""
    return margins


def sigmoid(margins: Array) -> Array:
    """Turn log-odds into probabilities, in the precision of the library."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-margins)))


def softmax(margins: Array) -> Array:
    """Turn raw predictions per class into probabilities."""
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def exponential(margins: Array) -> Array:
    """Turn logarithms into predictions."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(margins))


def _log_loss(probabilities: Array, labels: Array) -> Array:
    sure = np.maximum(probabilities.astype(np.float64), _SMALLEST)
    unsure = np.maximum(1 - probabilities.astype(np.float64), _SMALLEST)
    return np.asarray(-(labels * np.log(sure) + (1 - labels) * np.log(unsure)))


def _class_log_loss(probabilities: Array, labels: Array) -> Array:
    of_label = probabilities[np.arange(len(labels)), labels.astype(np.int64)]
    return np.asarray(-np.log(np.maximum(of_label.astype(np.float64), _SMALLEST)))


def _squared(predictions: Array, labels: Array) -> Array:
    return np.asarray((predictions.astype(np.float64) - labels) ** 2)


def _absolute(predictions: Array, labels: Array) -> Array:
    return np.asarray(np.abs(predictions.astype(np.float64) - labels))


def _squared_logs(predictions: Array, labels: Array) -> Array:
    return np.asarray((np.log1p(predictions.astype(np.float64)) - np.log1p(labels)) ** 2)


def binary(loss_name: str, link: Callable[[Array], Array] = sigmoid) -> Objective:
    """Two classes, by their log-odds."""
    return Objective(Task.BINARY, link, loss_name, _log_loss)


def multiclass(loss_name: str, link: Callable[[Array], Array] = softmax) -> Objective:
    """Several classes."""
    return Objective(Task.MULTICLASS, link, loss_name, _class_log_loss)


def squared_error(loss_name: str, link: Callable[[Array], Array] = identity) -> Objective:
    """The root mean square error."""
    return Objective(Task.REGRESSION, link, loss_name, _squared, is_rooted=True)


def mean_squared_error(loss_name: str) -> Objective:
    """The mean square error, without its root."""
    return Objective(Task.REGRESSION, identity, loss_name, _squared)


def absolute_error(loss_name: str) -> Objective:
    """The mean absolute error."""
    return Objective(Task.REGRESSION, identity, loss_name, _absolute)


def squared_log_error(loss_name: str) -> Objective:
    """The root mean square difference of logarithms."""
    return Objective(Task.REGRESSION, identity, loss_name, _squared_logs, is_rooted=True)
