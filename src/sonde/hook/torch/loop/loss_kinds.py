"""What operations losses come from: a training may go over to another loss in the middle."""

from typing import Any

from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.torch.loop.losses import operation_of
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "kinds of losses"


class LossKinds:
    """Says so when there is one that was not there before."""

    def __init__(self, session: Session, known: set[str]) -> None:
        """Begins to look.

        Args:
            session: Whom it is told.
            known: The operations that were seen; whoever leaves notes only looks for others.
        """
        self._session = session
        self._known = known

    def backward_begins(self, roots: Any) -> None:
        """A backward pass begins at these."""
        root = roots[0] if isinstance(roots, list | tuple) and roots else roots
        if not isinstance(root, Tensor):
            return
        operation = operation_of(root)
        if operation not in self._known:
            self._known.add(operation)
            kind, at = ObservationKind.LOSS_KIND, (Mode.TRAIN.value, self._session.steps.number)
            if self._session.plan.needs(kind):
                self._session.recorder.observe(kind, operation, float(len(self._known)), "", at)
