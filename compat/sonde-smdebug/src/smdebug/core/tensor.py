"""A saved tensor: its values and reductions at the steps of each mode."""

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ALLOWED_NORMS, ALLOWED_REDUCTIONS
from smdebug.exceptions import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)

if TYPE_CHECKING:
    from smdebug.trials.recorded_steps import RecordedStep
    from smdebug.trials.trial import Trial

Array = npt.NDArray[Any]


class StepState(Enum):
    """Whether a step can be read."""

    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


class Tensor:
    """A tensor of a trial."""

    def __init__(self, name: str, trial: "Trial") -> None:
        self.name = name
        self.trial = trial

    def steps(
        self, mode: ModeKeys = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> list[int]:
        """The steps of a mode at which it was saved.

        Args:
            mode: The mode that counts the steps.
            show_incomplete_steps: Include steps that not all workers have saved yet.
        """
        complete = set(self.trial.steps(mode, show_incomplete_steps=show_incomplete_steps))
        steps = {step.number(mode) for step in self._recorded(mode)}
        return sorted(steps & complete)

    def prev_steps(self, step: int, n: int | None, mode: ModeKeys = ModeKeys.GLOBAL) -> list[int]:
        """The last n steps up to a step, which is included.

        Args:
            step: The last step.
            n: How many; None for all of them.
            mode: The mode that counts the steps.
        """
        steps = [each for each in self.steps(mode) if each <= step]
        return steps if n is None else steps[-n:] if n else []

    def workers(self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[str]:
        """The workers that saved it at a step."""
        self._check(step_num, mode)
        return [step.worker for step in self._at(step_num, mode)]

    def value(
        self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None
    ) -> Array:
        """The full value at a step.

        Args:
            step_num: The step.
            mode: The mode that counts the steps.
            worker: By default, the first one that saved it.
        """
        step = self._step(step_num, mode, worker)
        value = self.trial.recording.value(self.name, step)
        if value is None:
            raise TensorUnavailableForStep(self.name, step_num, mode, has_reductions=True)
        array: Array = value
        return array

    def values(
        self, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[int, Array]:
        """The full value at each step of a mode."""
        values = {}
        for step_num in self.steps(mode):
            if worker is None or worker in self.workers(step_num, mode):
                values[step_num] = self.value(step_num, mode, worker)
        return values

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: ModeKeys = ModeKeys.GLOBAL,
        worker: str | None = None,
        abs: bool = False,
    ) -> Any:
        """A reduction at a step, such as `mean`; of the absolute values with `abs`."""
        if reduction_name not in (*ALLOWED_REDUCTIONS, *ALLOWED_NORMS):
            names = ", ".join((*ALLOWED_REDUCTIONS, *ALLOWED_NORMS))
            raise SMDebugValueError(f"Unknown reduction {reduction_name!r}. Use: {names}")
        step = self._step(step_num, mode, worker)
        value = self.trial.recording.reduction(self.name, step, (reduction_name, abs))
        if value is None:
            raise TensorUnavailableForStep(self.name, step_num, mode)
        return value

    def reduction_values(
        self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None
    ) -> dict[tuple[str, bool], Any]:
        """The reductions that the configuration of its collections requests, at a step."""
        step = self._step(step_num, mode, worker)
        values = {
            pair: self.trial.recording.reduction(self.name, step, pair)
            for pair in self.trial.requested_reductions(self.name, step)
        }
        return {pair: value for pair, value in values.items() if value is not None}

    def shape(
        self, step_num: int, mode: ModeKeys = ModeKeys.GLOBAL, worker: str | None = None
    ) -> tuple[int, ...]:
        """The shape at a step."""
        step = self._step(step_num, mode, worker)
        value = self.trial.recording.value(self.name, step)
        if value is not None:
            return tuple(value.shape)
        shape = self.trial.recording.shape(self.name)
        if shape is None:
            raise ShapeUnavailableForStep(self.name, step_num, mode)
        return shape

    def _step(self, step_num: int, mode: ModeKeys, worker: str | None) -> "RecordedStep":
        """The step of a worker at which the tensor was saved."""
        self._check(step_num, mode)
        if worker is not None and worker not in self.trial.workers():
            raise InvalidWorker(worker)
        for step in self._at(step_num, mode):
            if worker in (None, step.worker):
                return step
        raise TensorUnavailableForStep(self.name, step_num, mode)

    def _check(self, step_num: int, mode: ModeKeys) -> None:
        """Raise if the trial does not have a step."""
        if step_num in self.trial.steps(mode, show_incomplete_steps=True):
            return
        if self.trial.has_passed_step(step_num, mode) == StepState.NOT_YET_AVAILABLE:
            raise StepNotYetAvailable(step_num, mode)
        raise StepUnavailable(step_num, mode)

    def _at(self, step_num: int, mode: ModeKeys) -> "list[RecordedStep]":
        return [step for step in self._recorded(mode) if step.number(mode) == step_num]

    def _recorded(self, mode: ModeKeys) -> "list[RecordedStep]":
        """The steps of a mode at which it was saved, by worker."""
        self.trial.refresh_if_due()
        saved = self.trial.recording.steps_of(self.name)
        return [step for step in saved if step.has_mode(mode) and self.trial.is_in_range(step)]
