"""Keras models on TensorFlow."""

import sys
from typing import Any

from sonde.hook.keras.model import Array, KerasModel


class TensorFlowModel(KerasModel):
    """Reads the variables of a model."""

    backend, title, trainer = "tensorflow", "TensorFlow", "TensorFlowTrainer"
    not_collected = "gradients, layer outputs and data waits"

    @staticmethod
    def device() -> str:
        """The kind of device that trains."""
        devices = sys.modules["tensorflow"].config.list_logical_devices("GPU")
        return "gpu" if devices else "cpu"

    @staticmethod
    def to_number(value: Any) -> float:
        """A number that a compiled program has returned."""
        return float(value)

    def _read(self, variable: Any) -> Array:
        array: Array = variable.value.numpy()
        return array
