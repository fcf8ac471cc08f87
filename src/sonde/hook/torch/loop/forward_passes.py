"""A forward pass of a whole model, and the step that it turns out to belong to."""

from collections.abc import Callable
from typing import Any

from sonde.hook.steps import At, Pass, Steps


class ForwardPass:
    """One outermost forward pass; its step may turn out to be `NO_STEP`.

    Most passes know their step when they begin. Where several optimizers take turns, or gradients
    are off, what follows decides: what was seen in such a pass waits for that.
    """

    __slots__ = ("_waiting", "at", "batch", "kind", "likely")

    def __init__(self, steps: Steps, kind: Pass) -> None:
        self.kind = kind
        self.likely = steps.likely(kind)
        self.at: At | None = self.likely[0] if len(self.likely) == 1 else None
        self._waiting: list[Callable[[At], None]] = []
        self.batch: Any = None  # what it was given, outside of training: an evaluation's batch

    def when_settled(self, tell: Callable[[At], None]) -> None:
        """Tells the step: now, or once it is certain."""
        if self.at is None:
            self._waiting.append(tell)
        else:
            tell(self.at)

    def settle(self, at: At) -> None:
        """The step is certain now."""
        self.at = at
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(at)
