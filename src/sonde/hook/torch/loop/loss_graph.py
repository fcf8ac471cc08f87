"""What a loss of the script's own does with predictions, as its graph tells: softmax twice."""

import json
from collections import deque
from typing import Any

from torch import Tensor

from sonde.hook.inspections import Looks
from sonde.hook.session import Session
from sonde.hook.torch.checks.loss_inputs import LossInputs, producer_of
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "what losses are made of"
_MOST_OPERATIONS = 64  # between the loss and what is looked for
# operations that take logits, what their results are kept as, and the name of what does the same
_ON_LOGITS = {
    "LogSoftmaxBackward0": ("_saved_result", "log_softmax"),
    "BinaryCrossEntropyWithLogitsBackward0": (
        "_saved_self",
        "binary_cross_entropy_with_logits",
    ),
}
_PROBABILITIES = ("Softmax", "Sigmoid")


class LossGraph:
    """Looks at the graph of a loss before its backward pass uses it up."""

    def __init__(self, session: Session, looks: Looks, given: LossInputs) -> None:
        self._session = session
        self._looks = looks
        self._given = given
        self._said: set[str] = set()

    def backward_begins(self, roots: Any) -> None:
        """A backward pass begins at these; none of it has run yet."""
        kind = ObservationKind.PROBABILITIES_AS_LOGITS
        if not (self._session.plan.needs(kind) and self._looks.is_due()):
            return
        if self._given.inspected_step == self._session.steps.number:
            return  # a loss function was asked itself
        root = roots[0] if isinstance(roots, list | tuple) and roots else roots
        if not isinstance(root, Tensor) or root.grad_fn is None:
            return
        at = (Mode.TRAIN.value, self._session.steps.number)
        for operation in _near(root.grad_fn):
            found = _ON_LOGITS.get(type(operation).__name__)
            if found is None:
                continue
            kept, name = found
            by = producer_of(operation.next_functions[0][0])
            if by in _PROBABILITIES or name in self._said:
                self._said.add(name)
                shape = getattr(operation, kept).shape
                # a place of classes is there for softmax alone; from the end, it is wrapped around
                place = getattr(operation, "_saved_dim", None)
                classes = 1 if place is None else shape[_signed(place)]
                facts = {"rows": shape.numel() // max(1, classes), "classes": classes, "by": by}
                detail = json.dumps(facts, separators=(",", ":"))
                self._session.recorder.observe(kind, name, float(by in _PROBABILITIES), detail, at)
            return


def _signed(number: int) -> int:
    return number if number < 2**63 else number - 2**64


def _near(first: Any) -> list[Any]:
    """The operations that a loss is made of, from the last on."""
    found: list[Any] = []
    seen, waiting = {first}, deque([first])
    while waiting and len(found) < _MOST_OPERATIONS:
        operation = waiting.popleft()
        found.append(operation)
        for before, _ in operation.next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                waiting.append(before)
    return found
