"""The hook for Keras: a callback that saves weights, losses and metrics of batches."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import numpy as np

from smdebug.core import current_hook
from smdebug.core.collection import CollectionKeys
from smdebug.core.hook import BaseHook
from smdebug.core.modes import ModeKeys
from smdebug.core.warnings_once import warn_once
from smdebug.exceptions import SMDebugNotImplementedError

_PATTERNS = {
    CollectionKeys.WEIGHTS: ("^(?!gradient).*(kernel|embeddings|gamma)",),
    CollectionKeys.BIASES: ("^(?!gradient).*(bias|beta)",),
    CollectionKeys.GRADIENTS: ("^gradient",),
    CollectionKeys.LOSSES: ("^(val_)?loss$", "_loss$"),
}
_LOSS = "loss"


class KerasHook(BaseHook):
    """A callback for `model.fit`, `evaluate` and `predict`; a step is a batch."""

    default_collections: ClassVar[tuple[str, ...]] = (
        *(CollectionKeys.METRICS, CollectionKeys.LOSSES, CollectionKeys.SM_METRICS),
    )

    def __init__(self, out_dir: str, *arguments: Any, **named: Any) -> None:
        super().__init__(out_dir, *arguments, **named)
        self.model: Any = None
        self.params: Mapping[str, Any] = {}

    def set_model(self, model: Any) -> None:
        """Called by Keras before training."""
        self.model = model

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Called by Keras before training."""
        self.params = params

    def __getattr__(self, name: str) -> Any:
        """Keras calls about thirty methods `on_…`; those that are not defined do nothing."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        """Begin a training step."""
        del batch, logs
        self._begin(ModeKeys.TRAIN)

    def on_test_batch_begin(self, batch: int, logs: object = None) -> None:
        """Begin an evaluation step."""
        del batch, logs
        self._begin(ModeKeys.EVAL)

    def on_predict_batch_begin(self, batch: int, logs: object = None) -> None:
        """Begin a prediction step."""
        del batch, logs
        self._begin(ModeKeys.PREDICT)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Save the loss and the metrics of a training step."""
        del batch
        self._save_metrics(logs)

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Save the loss and the metrics of an evaluation step."""
        del batch
        self._save_metrics(logs)

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Return the optimizer; gradients are recorded by Sonde's adapter of Keras."""
        warn_once("wrap_optimizer has no effect: this hook saves no gradients")
        return optimizer

    def wrap_tape(self, tape: Any) -> Any:
        """Return the tape: this hook saves no gradients."""
        warn_once("wrap_tape has no effect: this hook saves no gradients")
        return tape

    def set_gradients(self, *arguments: Any, **named: Any) -> None:
        """Has no effect."""
        del arguments, named
        warn_once("set_gradients has no effect: this hook saves no gradients")

    def set_optimizer_variables(self, *arguments: Any, **named: Any) -> None:
        """Has no effect."""
        del arguments, named
        warn_once("set_optimizer_variables has no effect")

    @contextmanager
    def profiler(self, mode: ModeKeys = ModeKeys.TRAIN) -> Iterator[None]:
        """A block of a mode."""
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before

    def _built_in_patterns(self) -> dict[str, tuple[str, ...]]:
        return {**super()._built_in_patterns(), **_PATTERNS}

    def _begin(self, mode: ModeKeys) -> None:
        self.set_mode(mode)
        self.begin_step()
        if self.saves_this_step and self.model is not None:
            for variable in self.model.weights:
                name = str(getattr(variable, "path", variable.name)).partition(":")[0]
                self.save_if_due(name, np.array(variable))

    def _save_metrics(self, logs: Mapping[str, Any] | None) -> None:
        if not self.saves_this_step:
            return
        for name, value in (logs or {}).items():
            if not (name == _LOSS or name.endswith("_loss")):
                self.get_collection(CollectionKeys.METRICS).add_tensor_name(name)
            self.save_if_due(name, np.array(value))


class _Unsupported:
    """A hook of an interface that TensorFlow has removed."""

    def __init__(self, *_arguments: object, **_named: object) -> None:
        self._refuse()

    @classmethod
    def create_from_json_file(cls, _json_file_path: str | None = None) -> NoReturn:
        """Raise SMDebugNotImplementedError."""
        cls._refuse()

    @classmethod
    def _refuse(cls) -> NoReturn:
        raise SMDebugNotImplementedError(
            f"{cls.__name__} is not available, since sessions and estimators are not part of "
            "TensorFlow 2. Use KerasHook."
        )


class SessionHook(_Unsupported):
    """Not available."""


class EstimatorHook(_Unsupported):
    """Not available."""


def get_hook(
    hook_type: str | None = None,
    json_config_path: str | None = None,
    create_if_not_exists: bool = False,
) -> BaseHook | None:
    """The hook of this process; created from a configuration file if requested."""
    del hook_type
    hook: BaseHook | None = current_hook.get_hook(
        KerasHook, json_config_path, create_if_not_exists=create_if_not_exists
    )
    return hook


def _nothing(*_arguments: object, **_named: object) -> None:
    """Do nothing."""
