"""Keras on PyTorch: evaluations, and the updates of optimizers that are not of `torch.optim`."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch

from sonde.hook.frameworks._on_torch import OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.keras.epochs import Epochs
from sonde.hook.keras.hooks import Function, calling_first
from sonde.hook.keras.model import named
from sonde.hook.keras.torch_optimizer import KerasOptimizer
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode

_WITHIN_FIT = "_use_cached_eval_dataset"  # argument of evaluations inside `fit`


class KerasOnTorch(OnTorch):
    """Records updates and what `evaluate` returns, and marks the passes of `predict`."""

    package = "keras"
    version_in = "keras.src.version"  # the package itself is not fully imported yet

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("keras.src.backend.torch.trainer").TorchTrainer
        layer = import_module("keras.src.backend.torch.layer").TorchLayer
        optimizer = import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
        callbacks = import_module("keras.src.callbacks.callback_list").CallbackList
        epochs, hook = Epochs(self._session), self._session.hook
        self._optimizers: IdentityMap[Any, KerasOptimizer] = IdentityMap()
        patches.wrap(trainer, "evaluate", self._as_evaluation(_title, _metrics))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))
        for name, function in (
            ("on_train_begin", lambda _callbacks, _logs=None: epochs.begin_training()),
            ("on_epoch_end", lambda _callbacks, epoch, logs=None: epochs.end_epoch(epoch, logs)),
            ("on_train_end", lambda callbacks, _logs=None: epochs.end_training(callbacks)),
        ):
            patches.wrap(callbacks, name, calling_first(hook("keras", function, None)))
        patches.wrap(optimizer, "apply", self._wrap_apply)
        patches.wrap(layer, "_track_variables", self._wrap_tracking)

    def _wrap_apply(self, original: Function) -> Function:
        find = self._session.guard.shield("optimizers", self._find, None)
        is_compiling, run = torch.compiler.is_compiling, self._torch.loop.updates.run

        def call(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            try:
                if is_compiling():
                    return original(optimizer, grads, trainable_variables)
                variables = None if trainable_variables is None else list(trainable_variables)
                stand_in = find(optimizer, variables)
                if stand_in is None:
                    return original(optimizer, grads, variables)
                return run(stand_in, lambda: original(optimizer, grads, variables))
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _find(self, optimizer: Any, variables: list[Any] | None) -> KerasOptimizer | None:
        """What represents a Keras optimizer to the hooks on optimizers of PyTorch."""
        stand_in = self._optimizers.get(optimizer)
        if stand_in is None:
            trained = variables or vars(optimizer)["_trainable_variables"]
            if not trained:
                return None
            stand_in = self._optimizers[optimizer] = KerasOptimizer(optimizer, trained)
            self._torch.loop.optimizers.add(stand_in)
        return stand_in

    def _wrap_tracking(self, original: Function) -> Function:
        name = self._session.guard.shield("names", self._name_variables, None)

        def call(layer: Any) -> Any:
            try:
                result = original(layer)
            except BaseException as error:
                drop_frame(error)
                raise
            name(layer)
            return result

        return call

    def _name_variables(self, layer: Any) -> None:
        """Name parameters after the paths that Keras gives them."""
        for variable in layer.variables:
            self._torch.names.name(variable.value, variable.path)


def _title(_model: Any, *_args: Any, **kwargs: Any) -> str:
    """The title of an evaluation inside `fit`; others are named after their call site."""
    return "validation" if kwargs.get(_WITHIN_FIT) else ""


def _metrics(model: Any, result: Any) -> list[Mapping[str, Any]]:
    return [named(model, result)]
