"""Detects a doubled softmax or sigmoid in the autograd graph of a custom loss."""

from collections import deque
from typing import Any

from torch import Tensor

from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.loss_inputs import LossInputs, producer_of
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import LossInput
from sonde.records.step import Mode

_MAX_OPERATIONS = 64  # searched, starting from the loss
# operations on logits: the attribute with the saved tensor, and the equivalent function
_ON_LOGITS = {
    "LogSoftmaxBackward0": ("_saved_result", "log_softmax"),
    "BinaryCrossEntropyWithLogitsBackward0": (
        "_saved_self",
        "binary_cross_entropy_with_logits",
    ),
}
_PROBABILITIES = ("Softmax", "Sigmoid")


class LossGraph(StateCheck):
    """Inspect the graph of a loss before the backward pass frees it."""

    name = "loss components"
    observes = (ObservationKind.PROBABILITIES_AS_LOGITS,)
    order = 74
    is_inspection = True

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._inspections = context.inspections
        self._loss_inputs = context.check(LossInputs)
        self._reported: set[str] = set()

    def backward_begins(self, roots: Any) -> None:
        """Inspect the graph of the loss before its backward pass."""
        kind = ObservationKind.PROBABILITIES_AS_LOGITS
        if not (self._session.plan.needs(kind) and self._inspections.is_due()):
            return
        if self._loss_inputs.inspected_step == self._session.steps.number:
            return  # a loss function was already inspected in this step
        root = roots[0] if isinstance(roots, list | tuple) and roots else roots
        if not isinstance(root, Tensor) or root.grad_fn is None:
            return
        at = (Mode.TRAIN.value, self._session.steps.number)
        for operation in _last_operations(root.grad_fn):
            match = _ON_LOGITS.get(type(operation).__name__)
            if match is None:
                continue
            saved, name = match
            by = producer_of(operation.next_functions[0][0])
            if by in _PROBABILITIES or name in self._reported:
                self._reported.add(name)
                shape = getattr(operation, saved).shape
                # only softmax has a class dimension; a negative one is stored as unsigned
                dimension = getattr(operation, "_saved_dim", None)
                classes = 1 if dimension is None else shape[_as_signed(dimension)]
                detail = LossInput(shape.numel() // max(1, classes), classes, by).encode()
                self._session.recorder.observe(kind, name, float(by in _PROBABILITIES), detail, at)
            return


def _as_signed(number: int) -> int:
    return number if number < 2**63 else number - 2**64


def _last_operations(first: Any) -> list[Any]:
    """The operations that compute a loss, starting from the last one."""
    operations: list[Any] = []
    visited, queue = {first}, deque([first])
    while queue and len(operations) < _MAX_OPERATIONS:
        operation = queue.popleft()
        operations.append(operation)
        for before, _ in operation.next_functions:
            if before is not None and before not in visited:
                visited.add(before)
                queue.append(before)
    return operations
