"""Keras on PyTorch: metrics of its evaluations, whose losses Keras computes itself."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sonde.hook.frameworks._on_torch import OnTorch
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode

_WITHIN_FIT = "_use_cached_eval_dataset"


class Keras(OnTorch):
    """Records what `evaluate` returns, and marks the passes of `predict`."""

    package = "keras"
    awaits = ("keras.src.backend.torch.trainer",)
    version_in = "keras.src.version"  # the package itself is not fully imported yet

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("keras.src.backend.torch.trainer").TorchTrainer
        patches.wrap(trainer, "evaluate", self._as_evaluation(_title, _metrics))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))


def _title(_model: Any, *_args: Any, **kwargs: Any) -> str:
    """The title of an evaluation inside `fit`; others are named after their call site."""
    return "validation" if kwargs.get(_WITHIN_FIT) else ""


def _metrics(model: Any, result: Any) -> list[Mapping[str, Any]]:
    """The metrics: a mapping, or values in the order of the model's metrics."""
    if isinstance(result, Mapping):
        return [result]
    values = result if isinstance(result, list) else [result]
    return [dict(zip(model.metrics_names, values, strict=False))]
