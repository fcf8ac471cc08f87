"""Keras: chooses the hooks that suit the backend of this process."""

import sys
from collections.abc import Container
from importlib import import_module

from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.session import Session


class Keras(Adapter):
    """Reports trainings by `fit`, evaluations, and updates of Keras optimizers."""

    awaits = (
        "keras.src.backend.torch.trainer",
        "keras.src.backend.jax.trainer",
        "keras.src.backend.tensorflow.trainer",
    )

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        self._hooks = _hooks_for(sys.modules)
        self._hooks.attach(session)

    def detach(self) -> None:
        """Remove the hooks."""
        self._hooks.detach()


def _hooks_for(modules: Container[str]) -> Adapter:
    """The hooks for the backend; imported here, because they import its framework."""
    on_torch, on_jax, _ = Keras.awaits
    hooks: Adapter
    if on_torch in modules:
        hooks = import_module("sonde.hook.keras.on_torch").KerasOnTorch()
        return hooks
    if on_jax in modules:
        model = import_module("sonde.hook.keras.jax_model").JaxModel
        hooks = import_module("sonde.hook.keras.on_compiled").KerasOnCompiledBackend(model)
    else:
        hooks = import_module("sonde.hook.keras.on_tensorflow").KerasOnTensorFlow()
    return hooks
