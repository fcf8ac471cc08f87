"""Detects when training switches to another loss function."""

from typing import Any

from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.torch.loop.losses import operation_of
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

TASK = "loss types"


class LossKinds:
    """Records an observation for every new operation that produces the loss."""

    def __init__(self, session: Session, operations: set[str]) -> None:
        """Start with the given operations.

        Args:
            session: Records the observations.
            operations: Operations seen so far; shared with the deferred hooks, which stop
                deferring when another one appears.
        """
        self._session = session
        self._operations = operations

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
