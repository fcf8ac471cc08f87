"""Keras on PyTorch: what its evaluations measure; their losses are its own arithmetic."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sonde.hook.frameworks._on_torch import OnTorch
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode

_WITHIN_FIT = "_use_cached_eval_dataset"


class Keras(OnTorch):
    """Sees what `evaluate` returns, and what `predict` computes."""

    package = "keras"
    version_in = "keras.src.version"  # the package itself is still being imported

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("keras.src.backend.torch.trainer").TorchTrainer
        patches.wrap(trainer, "evaluate", self._named(_title, _metrics))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))


def _title(_model: Any, *_args: Any, **kwargs: Any) -> str:
    """The name of an evaluation while a model is fitted; others are named by the script."""
    return "validation" if kwargs.get(_WITHIN_FIT) else ""


def _metrics(model: Any, result: Any) -> list[Mapping[str, Any]]:
    """What was measured: a table, or values in the order of the model's metrics."""
    if isinstance(result, Mapping):
        return [result]
    values = result if isinstance(result, list) else [result]
    return [dict(zip(model.metrics_names, values, strict=False))]
