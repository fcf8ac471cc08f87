"""Detects when training switches to another loss function."""

from typing import Any

from torch import Tensor

from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.losses import operation_of
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode


class LossKinds(StateCheck):
    """Observe every new operation that produces the loss."""

    name = "loss types"
    observes = (ObservationKind.LOSS_KIND,)
    order = 76

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        # shared with the deferred hooks, which stop deferring when another operation appears
        self._operations = context.loop.backward.loss_kinds

    def backward_begins(self, roots: Any) -> None:
        """Check the operation that produced the loss."""
        root = roots[0] if isinstance(roots, list | tuple) and roots else roots
        if not isinstance(root, Tensor):
            return
        operation = operation_of(root)
        if operation not in self._operations:
            self._operations.add(operation)
            kind, at = ObservationKind.LOSS_KIND, (Mode.TRAIN.value, self._session.steps.number)
            if self._session.plan.needs(kind):
                self._session.recorder.observe(
                    kind, operation, float(len(self._operations)), "", at
                )
