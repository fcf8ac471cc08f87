"""What loss functions are given: probabilities for logits, right and wrong classes, labels."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from sonde.hook.inspections import Looks
from sonde.hook.session import Session
from sonde.hook.steps import At, Pass
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.hook.torch.tensors.shards import is_distributed
from sonde.hook.torch.tensors.tensor_samples import Brought, can_bring, deliver
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "what loss functions are given"
_OF_CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
_OF_TWO = {"binary_cross_entropy_with_logits": 0.0, "binary_cross_entropy": 0.5}  # and their border
_ON_LOGITS = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

_MOST_SAMPLES = 4096
_MOST_CLASSES = 1000
_MOST_TOLD = 100  # classes
_MOST_NUMBERS = 2**18  # of rows that are looked at
_MOST_ROWS = 256
_MATRIX = 2  # dimensions
_IS_TRUE = 0.5  # labels above are those of the one class

_SUM_MISSES = {torch.float32: 1e-4, torch.float64: 1e-6}  # by so much at most
_SUM_OF_HALVES_MISSES = 2e-2

# operations that only give another shape, or another element type
_RESHAPING = (
    *("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Select", "Slice", "Expand"),
    *("T", "Transpose", "Permute", "ToCopy", "Clone", "Alias"),
)
_MOST_RESHAPED = 8
# what these give is no probability, wherever it lies
_LINEAR = ("Addmm", "Mm", "Bmm", "Baddbmm", "Mv", "Addmv", "Linear", "Convolution", "Dot")


class Given:
    """Looks at what loss functions are called with."""

    def __init__(self, session: Session, looks: Looks) -> None:
        self._session = session
        self._looks = looks
        self.looked_at = -1  # the training step whose logits were seen last

    def look(self, name: str, forward: ForwardPass, predictions: object, labels: object) -> None:
        """A loss function was called."""
        is_training = forward.kind is Pass.TRAIN
        looks = self._looks
        if not (looks.is_due_in(forward) if is_training else looks.is_due_in_evaluation):
            return
        if not (isinstance(predictions, Tensor) and _is_fit(predictions)):
            return
        is_asked = self._session.plan.needs(ObservationKind.PROBABILITIES_AS_LOGITS)
        with torch.no_grad():
            if is_asked and is_training and name in _ON_LOGITS:
                self.looked_at = self._session.steps.number
                self._probabilities(name, forward, predictions)
            if isinstance(labels, Tensor) and _is_fit(labels):
                self._classes(name, forward, predictions.detach(), labels.detach())

    def _probabilities(self, name: str, forward: ForwardPass, predictions: Tensor) -> None:
        is_of_classes = name in _OF_CLASSES
        rows = _rows(predictions.detach(), is_of_classes)
        count, classes = rows.shape
        if not rows.is_floating_point() or (is_of_classes and classes < _MATRIX):
            return
        by = made_by(predictions.grad_fn)
        facts = {"rows": count, "classes": classes, "by": by}
        kind = ObservationKind.PROBABILITIES_AS_LOGITS
        share = Brought([] if by in _LINEAR else [_share(rows, is_of_classes)])

        def tell(found: list[Tensor], at: At) -> None:
            value = float(found[0]) if found else 0.0
            self._observe(kind, name, value, facts, at)

        self._when_there(forward, share, tell)

    def _classes(
        self, name: str, forward: ForwardPass, predictions: Tensor, labels: Tensor
    ) -> None:
        needs = self._session.plan.needs
        if not (needs(ObservationKind.CLASS_HITS) or needs(ObservationKind.LABEL_BATCH)):
            return
        if name in _OF_CLASSES:
            found = _of_many(predictions, labels)
        elif name in _OF_TWO:
            found = _of_two(predictions, labels, _OF_TWO[name])
        else:
            found = None
        if found is None:
            return
        batch = forward.batch

        def record(numbers: list[Tensor], at: At) -> None:
            hits = self._record(numbers, at)
            if hits and batch is not None and at[0] != Mode.TRAIN:
                batch.count(hits)

        self._when_there(forward, Brought(found), record)

    def _when_there(
        self, forward: ForwardPass, brought: Brought, tell: Callable[[list[Tensor], At], None]
    ) -> None:
        """Once it is certain which step it was, and what was looked at has come."""
        is_training = forward.kind is Pass.TRAIN

        def settled(at: At) -> None:
            if at[1] >= 0 and is_training == (at[0] == Mode.TRAIN):
                deliver(self._session, PART, brought, lambda found: tell(found, at))

        forward.when_settled(settled)

    def _record(self, numbers: list[Tensor], at: At) -> dict[str, list[int]]:
        predicted, given = (one.tolist() for one in numbers)
        seen = [pair for pair in zip(given, predicted, strict=True) if pair[0] >= 0]
        if not seen:
            return {}
        labels = Counter(label for label, _ in seen)
        right = Counter(label for label, predicted in seen if label == predicted)
        told = sorted(label for label, _ in labels.most_common(_MOST_TOLD))
        hits = {str(label): [right[label], labels[label] - right[label]] for label in told}
        self._observe(ObservationKind.CLASS_HITS, "predictions", len(seen), hits, at)
        if at[0] == Mode.TRAIN:
            counts = {str(label): labels[label] for label in told}
            self._observe(ObservationKind.LABEL_BATCH, "labels", len(seen), counts, at)
        return hits

    def _observe(
        self, kind: ObservationKind, subject: str, value: float, facts: Mapping[str, object], at: At
    ) -> None:
        if self._session.plan.needs(kind):
            detail = json.dumps(facts, separators=(",", ":"))
            self._session.recorder.observe(kind, subject, float(value), detail, at)


def _is_fit(tensor: Tensor) -> bool:
    is_here = is_plain(tensor) and not is_distributed(tensor)
    return is_here and can_bring(tensor) and tensor.numel() > 0


def _rows(predictions: Tensor, is_of_classes: bool) -> Tensor:
    """Some of the predictions: a row for each sample, or for each place in one."""
    if predictions.dim() < _MATRIX:
        predictions = predictions.reshape(1, -1) if is_of_classes else predictions.reshape(-1, 1)
    if predictions.dim() > _MATRIX and is_of_classes:
        predictions = predictions[:1].flatten(2).transpose(1, 2).squeeze(0)
    rows = predictions.flatten(1)
    most = max(1, min(_MOST_ROWS, _MOST_NUMBERS // max(1, rows.shape[1])))
    return rows[:: -(-len(rows) // most)]


def _share(rows: Tensor, is_of_classes: bool) -> Tensor:
    """How many of the rows are probabilities, on the device that has them."""
    misses = _SUM_MISSES.get(rows.dtype, _SUM_OF_HALVES_MISSES)
    rows = rows.to(torch.float32)
    is_one = (rows >= 0).all(1)
    if is_of_classes:
        is_one &= (rows.sum(1) - 1).abs() <= misses
    else:
        is_one &= (rows <= 1).all(1)
    return is_one.to(torch.float32).mean().reshape(1)


def _of_many(predictions: Tensor, labels: Tensor) -> list[Tensor] | None:
    """The classes that were predicted, and the labels; of a few classes, some of the samples."""
    if labels.is_floating_point() or labels.dim() != predictions.dim() - 1:
        return None
    if predictions.dim() < _MATRIX or predictions.shape[1] > _MOST_CLASSES:
        return None
    if predictions.dim() > _MATRIX:
        places = predictions[0, 0].numel()
        images = max(1, _MOST_SAMPLES // places)
        predictions, labels = predictions[:images].flatten(2), labels[:images].flatten(1)
        step = -(-labels.numel() // _MOST_SAMPLES)
        predictions, labels = predictions[:, :, ::step], labels[:, ::step]
    else:
        predictions, labels = predictions[:_MOST_SAMPLES], labels[:_MOST_SAMPLES]
    return [predictions.argmax(1).reshape(-1), labels.reshape(-1).to(torch.int64)]


def _of_two(predictions: Tensor, labels: Tensor, border: float) -> list[Tensor] | None:
    """The same where there is one number for each sample."""
    if predictions.numel() != len(predictions) or labels.shape != predictions.shape:
        return None
    predicted = (predictions.reshape(-1)[:_MOST_SAMPLES] > border).to(torch.int64)
    return [predicted, (labels.reshape(-1)[:_MOST_SAMPLES] > _IS_TRUE).to(torch.int64)]


def made_by(operation: Any) -> str:
    """The operation that gave numbers, by its name in the graph, where that tells."""
    for _ in range(_MOST_RESHAPED):
        if operation is None:
            return ""
        name = type(operation).__name__.rstrip("0123456789").removesuffix("Backward")
        if name not in _RESHAPING:
            return name
        operation = operation.next_functions[0][0]
    return ""
