"""Keras on PyTorch: evaluations, and the updates of optimizers that are not of `torch.optim`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import torch

from sonde.hook.frameworks._on_torch import OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.keras.torch_optimizer import KerasOptimizer
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode

Function = Callable[..., Any]

WITHIN_FIT = "_use_cached_eval_dataset"  # argument of evaluations inside `fit`


class KerasOnTorch(OnTorch):
    """Records updates and what `evaluate` returns, and marks the passes of `predict`."""

    package = "keras"
    source = "keras"
    version_in = "keras.src.version"  # the package itself is not fully imported yet

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("keras.src.backend.torch.trainer").TorchTrainer
        layer = import_module("keras.src.backend.torch.layer").TorchLayer
        optimizer = import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
        callbacks = import_module("keras.src.callbacks.callback_list").CallbackList
        self._optimizers: IdentityMap[Any, KerasOptimizer] = IdentityMap()
        patches.wrap(trainer, "evaluate", self._as_evaluation(title_of, metrics_of))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))
        patches.wrap(callbacks, "on_epoch_end", self._wrap_epoch_end)
        patches.wrap(optimizer, "apply", self._wrap_apply)
        patches.wrap(layer, "_track_variables", self._wrap_tracking)

    def _wrap_epoch_end(self, original: Function) -> Function:
        note = self._note

        def call(callbacks: Any, epoch: int, logs: Any = None) -> Any:
            note(logs or {})
            try:
                return original(callbacks, epoch, logs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_apply(self, original: Function) -> Function:
        find = self._session.guard.shield("optimizers", self._find, None)
        is_compiling, run = torch.compiler.is_compiling, self._torch.loop.updates.run

        def call(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if is_compiling():
                return original(optimizer, grads, trainable_variables)
            variables = None if trainable_variables is None else list(trainable_variables)
            stand_in = find(optimizer, variables)
            try:
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


def title_of(_model: Any, *_args: Any, **kwargs: Any) -> str:
    """The title of an evaluation inside `fit`; others are named after their call site."""
    return "validation" if kwargs.get(WITHIN_FIT) else ""


def metrics_of(model: Any, result: Any) -> list[Mapping[str, Any]]:
    """The metrics: a mapping, or values in the order of the model's metrics."""
    if isinstance(result, Mapping):
        return [result]
    values = result if isinstance(result, list) else [result]
    return [dict(zip(model.metrics_names, values, strict=False))]
