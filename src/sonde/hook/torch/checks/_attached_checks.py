"""All state checks of a training process, bound to the callbacks that they override."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch.optim import Optimizer

from sonde.hook.torch.checks._state_check import CheckContext, StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass

Callback = Callable[..., None]


class AttachedChecks:
    """Builds state checks, and calls only the methods that each check overrides."""

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
            begins, ends = _overridden(check, "forward_begins"), _overridden(check, "forward_ends")
            context.modules.passes.listen(check.name, begins, ends)
            after_step = _overridden(check, "after_step")
            if after_step is not None:
                listeners.on_step(check.name, after_step)

    def find(self, kind: type[StateCheck]) -> StateCheck:
        """The instance of a check; checks may look up other checks while they are built."""
        if kind not in self._checks:
            self._checks[kind] = kind(self.context)
        return self._checks[kind]

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """Run the checks before an update, when all gradients of the step exist."""
        for check in self._before_update:
            check(optimizer, number)

    def loss_called(self, name: str, forward: ForwardPass, predictions: Any, labels: Any) -> None:
        """Run the checks after a call of a loss function."""
        for check in self._loss_called:
            check(name, forward, predictions, labels)

    def deferred_loss_called(self, name: str, labels: Any) -> None:
        """Run the checks after a call of a loss function in a step whose hooks are deferred."""
        for check in self._deferred_loss_called:
            check(name, labels)

    def _bound(self, name: str) -> list[Callback]:
        """The guarded methods of all checks that override a callback."""
        methods = [(check, _overridden(check, name)) for check in self._ordered]
        return [self._guarded(check, method) for check, method in methods if method is not None]

    def _guarded(self, check: StateCheck, method: Callback) -> Callback:
        if check.is_inspection:
            return self.context.inspections.timed(check.name, method)
        return self.context.session.guard.shield(check.name, method, None)


def _overridden(check: StateCheck, name: str) -> Callback | None:
    """A bound method of a check, or None if its class does not override it."""
    if getattr(type(check), name) is getattr(StateCheck, name):
        return None
    method: Callback = getattr(check, name)
    return method
