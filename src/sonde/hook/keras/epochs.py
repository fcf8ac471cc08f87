"""Epochs of Keras: the metrics that `fit` reports for each, and early stopping."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sonde.hook.script import record_number
from sonde.hook.session import Session
from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import EarlyStop
from sonde.records.step import Mode

_SOURCE = "keras"
_LOSS, _VALIDATION = "loss", "val_"  # recorded by batch, and as evaluations
_TRAIN = Mode.TRAIN.value


class Epochs:
    """Records what the callbacks of a training report."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last_steps: dict[int, int] = {}  # of epochs
        self._first_step = 0

    def begin_training(self) -> None:
        """Begin a training."""
        self._last_steps, self._first_step = {}, self._session.steps.counts[_TRAIN]

    def end_epoch(self, epoch: int, logs: Mapping[str, Any] | None) -> None:
        """Record the metrics of an epoch."""
        at = (_TRAIN, max(0, self._session.steps.counts[_TRAIN] - 1))
        self._last_steps[epoch] = at[1]
        for name, value in (logs or {}).items():
            if name != _LOSS and not name.startswith(_VALIDATION):
                record_number(self._session, str(name), value, _SOURCE, at)

    def end_training(self, callbacks: Any) -> None:
        """Record the best epoch, if the training stops early."""
        kind = import_module("keras.src.callbacks.early_stopping").EarlyStopping
        steps = self._session.steps.counts[_TRAIN] - self._first_step
        for callback in callbacks.callbacks:
            best = self._last_steps.get(getattr(callback, "best_epoch", -1))
            if not isinstance(callback, kind) or best is None or callback.best is None:
                continue
            is_stopped = bool(callback.stopped_epoch)
            record = EarlyStop(float(callback.best), steps, is_stopped=is_stopped)
            observed = ObservationKind.EARLY_STOPPING
            at = (_TRAIN, self._first_step + steps - 1)
            self._session.recorder.observe(observed, _SOURCE, best, record.encode(), at)
