"""Keras models on JAX, whose variables are empty while `fit` passes their values around."""

import sys
from typing import Any

import numpy as np

from sonde.hook.keras.model import Array, KerasModel

_STATE = "_jax_state"  # the values after the latest batch, by kind of variable
_KINDS = ("trainable_variables", "metrics_variables", "optimizer_variables")


class JaxModel(KerasModel):
    """Reads values from the state that the training loop keeps beside the model."""

    backend, title = "jax", "JAX"
    trainer, iterator = "JAXTrainer", "JAXEpochIterator"
    not_collected = "gradients and layer outputs"

    @staticmethod
    def device() -> str:
        """The kind of device that trains."""
        return str(sys.modules["jax"].default_backend())

    @staticmethod
    def to_number(value: Any) -> float:
        """A number that a compiled program has returned."""
        return float(np.asarray(value))  # `float` of a JAX array takes ten times as long

    def _read(self, variable: Any) -> Array:
        return _on_host(self._value(variable))

    def _value(self, variable: Any) -> Any:
        model = self.model
        state = vars(model).get(_STATE) or {}
        for kind in _KINDS:
            values = state.get(kind)
            if values is None:
                continue
            owner = model.optimizer.variables if kind == _KINDS[2] else getattr(model, kind)
            for candidate, value in zip(owner, values, strict=False):
                if candidate is variable:
                    return value
        return variable.value


def _on_host(value: Any) -> Array:
    """The elements of an array.

    On a CPU, `np.asarray` would keep a view of the buffer, which the next step is to reuse.
    """
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError):  # another device or element type
        return np.asarray(value)
