"""A forward pass of a model and the step it belongs to."""

from collections.abc import Callable
from typing import Any

from sonde.hook.steps import Pass, StepId, Steps


class ForwardPass:
    """An outermost forward pass; its step may turn out to be `NO_STEP`.

    The step is usually known when the pass begins. With alternating optimizers or disabled
    gradients it depends on what follows, and callbacks are delayed until then.
    """

    __slots__ = ("_callbacks", "at", "batch", "kind", "likely")

    def __init__(self, steps: Steps, kind: Pass) -> None:
        self.kind = kind
        self.likely = steps.possible_steps(kind)
        self.at: StepId | None = self.likely[0] if len(self.likely) == 1 else None
        self._callbacks: list[Callable[[StepId], None]] = []
        self.batch: Any = None  # the input of an evaluation pass

    def when_settled(self, callback: Callable[[StepId], None]) -> None:
        """Call back with the step, immediately if it is known."""
        if self.at is None:
            self._callbacks.append(callback)
        else:
            callback(self.at)

    def settle(self, at: StepId) -> None:
        """Set the step and run the callbacks."""
        self.at = at
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(at)
