"""The size of training samples, which grows in a curriculum."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.steps import Pass
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import InputSizeChange
from sonde.records.step import Mode

_STABLE_BATCHES = 8  # in a row with the same size; the length of text batches varies


class InputSizes:
    """Record when the sample size changes after several batches of the same size."""

    def __init__(self, session: Session, steps_behind: Callable[[], int]) -> None:
        """Start without a known size.

        Args:
            session: Records the changes.
            steps_behind: Returns the number of finished steps that the session has not counted.
        """
        self._session = session
        self._steps_behind = steps_behind
        self.forget()

    def forget(self) -> None:
        """Forget the size when a new training run begins."""
        self._size = 0
        self._batches = 0

    def note(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compare the sample size of a training batch with that of previous batches."""
        size = _sample_size(args, kwargs)
        if size == self._size:
            self._batches += 1
            return
        session, kind = self._session, ObservationKind.INPUT_SIZE
        if self._batches >= _STABLE_BATCHES and size and session.plan.needs(kind):
            step = session.steps.possible_steps(Pass.TRAIN)[-1][1] + self._steps_behind()
            at = (Mode.TRAIN.value, step)
            change = InputSizeChange(before=self._size)
            session.recorder.observe(kind, "input", float(size), change.encode(), at)
        self._size, self._batches = size, 1


def _sample_size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the number of elements per sample of the first tensor, or 0 without tensors."""
    value = args[0] if args else next(iter(kwargs.values()), None)
    if isinstance(value, dict | list | tuple):
        value = next(iter(value.values() if isinstance(value, dict) else value), None)
    if type(value) is not Tensor or not value.dim():
        return 0
    return value.numel() // max(1, len(value))
