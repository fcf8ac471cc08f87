"""All state checks of a training process, bound to the moments that they implement."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch.optim import Optimizer

from sonde.hook.torch.checks._state_check import CheckContext, StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass

Moment = Callable[..., None]


class AttachedChecks:
    """Builds state checks and calls each one only at the moments that its class overrides."""

    def __init__(self, context: CheckContext, classes: Sequence[type[StateCheck]]) -> None:
        self.context = replace(context, find=self.find)
        self._checks: dict[type[StateCheck], StateCheck] = {}
        for kind in classes:
            self.find(kind)
        self._ordered = [self._checks[kind] for kind in classes]
        self._loss_called = self._bound("loss_called")
        self._deferred_loss_called = self._bound("deferred_loss_called")
        self._before_update = self._bound("before_update")

    def attach(self) -> None:
        """Register the checks at the loop, the modules and the session."""
        context = self.context
        listeners, loop = context.session.listeners, context.loop
        loop.backward.at_begin += self._bound("backward_begins")
        loop.backward.at_end += self._bound("backward_ends")
        if self._before_update:
            loop.updates.listen("state checks", self)
        for begin in self._bound("begin"):
            listeners.on_begin(begin)
        for flush in self._bound("flush"):
            listeners.before_flush(flush)
        for end in self._bound("end"):
            listeners.on_end(end)
        for check in self._ordered:
            begins, ends = _moment(check, "forward_begins"), _moment(check, "forward_ends")
            context.modules.passes.listen(check.name, begins, ends)
            after_step = _moment(check, "after_step")
            if after_step is not None:
                listeners.on_step(check.name, after_step)

    def find(self, kind: type[StateCheck]) -> StateCheck:
        """The instance of a check; a check may ask for another one while it is built."""
        if kind not in self._checks:
            self._checks[kind] = kind(self.context)
        return self._checks[kind]

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients are there; nothing is updated yet."""
        for check in self._before_update:
            check(optimizer, number)

    def loss_called(self, name: str, forward: ForwardPass, predictions: Any, labels: Any) -> None:
        """A loss function was called."""
        for check in self._loss_called:
            check(name, forward, predictions, labels)

    def deferred_loss_called(self, name: str, labels: Any) -> None:
        """A loss function was called in a training step whose hooks are deferred."""
        for check in self._deferred_loss_called:
            check(name, labels)

    def _bound(self, moment: str) -> list[Moment]:
        """The methods of all checks that override a moment, each safe to call."""
        moments = [(check, _moment(check, moment)) for check in self._ordered]
        return [self._guarded(check, method) for check, method in moments if method is not None]

    def _guarded(self, check: StateCheck, method: Moment) -> Moment:
        if check.is_inspection:
            return self.context.inspections.timed(check.name, method)
        return self.context.session.guard.shield(check.name, method, None)


def _moment(check: StateCheck, moment: str) -> Moment | None:
    """A bound method of a check; None where its class does not override the moment."""
    if getattr(type(check), moment) is getattr(StateCheck, moment):
        return None
    method: Moment = getattr(check, moment)
    return method
