"""The interface through which a Keras model is read; one file per backend implements it."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonde.hook.keras.variables import state_names
from sonde.records.tensor import TensorKind

Array = npt.NDArray[Any]
Kinds = tuple[TensorKind, ...]

WEIGHT, BIAS = (TensorKind.WEIGHT,), (TensorKind.BIAS,)
GRADIENT = (TensorKind.GRADIENT,)
STATE = (TensorKind.OPTIMIZER_STATE,)
_LOSS, _LOSS_TRACKER = "loss", "_loss_tracker"


class KerasModel(ABC):
    """A model in training; nothing here changes it."""

    backend: ClassVar[str]  # its name, which is that of its package
    title: ClassVar[str]
    trainer: ClassVar[str]  # the class that trains
    iterator: ClassVar[str] = ""  # the class that iterates over data in Python, if one does
    not_collected: str  # what happens inside compiled programs

    def __init__(self, model: Any, *, resets_mean: bool = False) -> None:
        """Prepare to read a model.

        Args:
            model: The model.
            resets_mean: Whether it resets its means before each batch.
        """
        self._reference = weakref.ref(model)
        means = [item for item in model.metrics if item.name == _LOSS and hasattr(item, "count")]
        # the number that the mean of the losses divides by
        self._weight = means[0].count if means and not resets_mean else None
        self.counts_samples = bool(means) and means[0] is vars(model).get(_LOSS_TRACKER)

    def is_of(self, model: Any) -> bool:
        """Whether this is the same model, compiled once."""
        return self._reference() is model

    @property
    def model(self) -> Any:
        """The model."""
        return self._reference()

    @property
    def has_running_mean(self) -> bool:
        """Whether the model reports the mean of the losses so far, and not each loss itself."""
        return self._weight is not None

    def loss_weight(self) -> float | None:
        """The weight of everything in the running mean of the losses."""
        return None if self._weight is None else float(self._read(self._weight))

    def learning_rate(self) -> float:
        """The learning rate of the latest batch."""
        optimizer = self.model.optimizer
        rate = vars(optimizer)["_learning_rate"]
        if hasattr(rate, "path"):
            return float(self._read(rate))
        return float(rate(int(self._read(optimizer.iterations))) if callable(rate) else rate)

    def tensors(self) -> Iterator[tuple[str, Kinds, Any]]:
        """The weights and the state of the optimizer: name, kinds and Keras variable."""
        model = self.model
        weights = {variable.path: variable for variable in model.trainable_variables}
        for path, variable in weights.items():
            yield path, BIAS if path.rpartition("/")[2] == "bias" else WEIGHT, variable
        for variable, path, name in state_names(model.optimizer, weights):
            yield f"optimizer_state/{name}/{path}", STATE, variable

    def read(self, variable: Any) -> Array:
        """A copy of the value of a variable after the latest batch."""
        return np.array(self._read(variable))

    @staticmethod
    @abstractmethod
    def device() -> str:
        """The kind of device that trains."""

    @staticmethod
    @abstractmethod
    def to_number(value: Any) -> float:
        """A number that a compiled program has returned."""

    @abstractmethod
    def _read(self, variable: Any) -> Array:
        """The value of a variable after the latest batch; perhaps not a copy."""


def named(model: Any, result: Any) -> Mapping[str, Any]:
    """What a call has returned: a mapping, or values in the order of the model's metrics."""
    if isinstance(result, Mapping):
        return result
    values: Sequence[Any] = result if isinstance(result, list) else [result]
    # the metrics passed to `compile` are one metric that contains them
    metrics = [part for metric in model.metrics for part in getattr(metric, "metrics", [metric])]
    return dict(zip([metric.name for metric in metrics], values, strict=False))
