"""Inputs of loss functions: probabilities instead of logits, class hits, labels."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sonde.hook.steps import Pass, StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.hook.torch.tensors.shards import is_distributed
from sonde.hook.torch.tensors.tensor_samples import HostCopies, can_copy, deliver
from sonde.records.observation import ObservationKind
from sonde.records.observations import ObservationRecord
from sonde.records.observations.batches import ClassHits, LabelCounts, LossInput
from sonde.records.step import Mode

_MULTICLASS_LOSSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
# decision thresholds of predictions
_BINARY_LOSSES = {
    "binary_cross_entropy_with_logits": 0.0,
    "binary_cross_entropy": 0.5,
}
_LOGIT_LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

_MAX_SAMPLES = 4096
_MAX_CLASSES = 1000
_MAX_RECORDED_CLASSES = 100
_MAX_VALUES = 2**18  # in all sampled rows
_MAX_ROWS = 256
_MATRIX_DIMENSIONS = 2
_POSITIVE_LABEL = 0.5  # labels above it are positive

_SUM_TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-6}  # of the sum of probabilities
_HALF_SUM_TOLERANCE = 2e-2

# operations that change only the shape or the element type
_RESHAPING = (
    *("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Select", "Slice", "Expand"),
    *("T", "Transpose", "Permute", "ToCopy", "Clone", "Alias"),
)
_MAX_RESHAPES = 8
# the outputs of these operations are never probabilities
_LINEAR = ("Addmm", "Mm", "Bmm", "Baddbmm", "Mv", "Addmv", "Linear", "Convolution", "Dot")


class LossInputs(StateCheck):
    """Inspect the predictions and labels that loss functions are called with."""

    name = "loss function inputs"
    observes = (
        ObservationKind.PROBABILITIES_AS_LOGITS,
        ObservationKind.CLASS_HITS,
        ObservationKind.LABEL_BATCH,
    )
    order = 130
    is_inspection = True

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._inspections = context.inspections
        self.inspected_step = -1  # the last training step whose logits were inspected

    def loss_called(
        self, name: str, forward: ForwardPass, predictions: object, labels: object
    ) -> None:
        """Inspect the arguments of a loss function, if the pass is due."""
        is_training = forward.kind is Pass.TRAIN
        inspections = self._inspections
        if not (
            inspections.is_due_in(forward) if is_training else inspections.evaluations.is_pass_due
        ):
            return
        if not (isinstance(predictions, Tensor) and _is_readable(predictions)):
            return
        is_needed = self._session.plan.needs(ObservationKind.PROBABILITIES_AS_LOGITS)
        with torch.no_grad():
            if is_needed and is_training and name in _LOGIT_LOSSES:
                self.inspected_step = self._session.steps.number
                self._inspect_probabilities(name, forward, predictions)
            if isinstance(labels, Tensor) and _is_readable(labels):
                self._inspect_classes(name, forward, predictions.detach(), labels.detach())

    def _inspect_probabilities(self, name: str, forward: ForwardPass, predictions: Tensor) -> None:
        is_multiclass = name in _MULTICLASS_LOSSES
        rows = _rows(predictions.detach(), is_multiclass)
        count, classes = rows.shape
        if not rows.is_floating_point() or (is_multiclass and classes < _MATRIX_DIMENSIONS):
            return
        by = producer_of(predictions.grad_fn)
        loss_input = LossInput(count, classes, by)
        kind = ObservationKind.PROBABILITIES_AS_LOGITS
        share = HostCopies([] if by in _LINEAR else [_probability_share(rows, is_multiclass)])

        def record(tensors: list[Tensor], at: StepId) -> None:
            value = float(tensors[0]) if tensors else 0.0
            self._observe_if_needed(kind, name, value, loss_input, at)

        self._when_ready(forward, share, record)

    def _inspect_classes(
        self, name: str, forward: ForwardPass, predictions: Tensor, labels: Tensor
    ) -> None:
        needs = self._session.plan.needs
        if not (needs(ObservationKind.CLASS_HITS) or needs(ObservationKind.LABEL_BATCH)):
            return
        if name in _MULTICLASS_LOSSES:
            tensors = _multiclass_pairs(predictions, labels)
        elif name in _BINARY_LOSSES:
            tensors = _binary_pairs(predictions, labels, _BINARY_LOSSES[name])
        else:
            tensors = None
        if tensors is None:
            return
        batch = forward.batch

        def record(numbers: list[Tensor], at: StepId) -> None:
            hits = self._record(numbers, at)
            if hits and batch is not None and at[0] != Mode.TRAIN:
                batch.count(hits)

        self._when_ready(forward, HostCopies(tensors), record)

    def _when_ready(
        self,
        forward: ForwardPass,
        copies: HostCopies,
        record: Callable[[list[Tensor], StepId], None],
    ) -> None:
        """Record once the step of the pass is known and the copies have arrived."""
        is_training = forward.kind is Pass.TRAIN

        def settled(at: StepId) -> None:
            if at[1] >= 0 and is_training == (at[0] == Mode.TRAIN):
                deliver(self._session, self.name, copies, lambda tensors: record(tensors, at))

        forward.when_settled(settled)

    def _record(self, numbers: list[Tensor], at: StepId) -> dict[str, tuple[int, int]]:
        predicted, true_labels = (tensor.tolist() for tensor in numbers)
        pairs = [pair for pair in zip(true_labels, predicted, strict=True) if pair[0] >= 0]
        if not pairs:
            return {}
        labels = Counter(label for label, _ in pairs)
        correct = Counter(label for label, predicted in pairs if label == predicted)
        frequent = sorted(label for label, _ in labels.most_common(_MAX_RECORDED_CLASSES))
        hits = {str(label): (correct[label], labels[label] - correct[label]) for label in frequent}
        kind, count = ObservationKind.CLASS_HITS, len(pairs)
        self._observe_if_needed(kind, "predictions", count, ClassHits(hits), at)
        if at[0] == Mode.TRAIN:
            counts = LabelCounts({str(label): labels[label] for label in frequent})
            self._observe_if_needed(ObservationKind.LABEL_BATCH, "labels", count, counts, at)
        return hits

    def _observe_if_needed(
        self,
        kind: ObservationKind,
        subject: str,
        value: float,
        record: ObservationRecord,
        at: StepId,
    ) -> None:
        if self._session.plan.needs(kind):
            self._observe(kind, subject, float(value), record, at)


def _is_readable(tensor: Tensor) -> bool:
    is_here = is_plain(tensor) and not is_distributed(tensor)
    return is_here and can_copy(tensor) and tensor.numel() > 0


def _rows(predictions: Tensor, is_multiclass: bool) -> Tensor:
    """Sample the predictions: one row per sample, or per position of a sample."""
    if predictions.dim() < _MATRIX_DIMENSIONS:
        predictions = predictions.reshape(1, -1) if is_multiclass else predictions.reshape(-1, 1)
    if predictions.dim() > _MATRIX_DIMENSIONS and is_multiclass:
        predictions = predictions[:1].flatten(2).transpose(1, 2).squeeze(0)
    rows = predictions.flatten(1)
    max_rows = max(1, min(_MAX_ROWS, _MAX_VALUES // max(1, rows.shape[1])))
    return rows[:: -(-len(rows) // max_rows)]


def _probability_share(rows: Tensor, is_multiclass: bool) -> Tensor:
    """Compute the share of rows that are probabilities, on their device."""
    tolerance = _SUM_TOLERANCES.get(rows.dtype, _HALF_SUM_TOLERANCE)
    rows = rows.to(torch.float32)
    is_distribution = (rows >= 0).all(1)
    if is_multiclass:
        is_distribution &= (rows.sum(1) - 1).abs() <= tolerance
    else:
        is_distribution &= (rows <= 1).all(1)
    return is_distribution.to(torch.float32).mean().reshape(1)


def _multiclass_pairs(predictions: Tensor, labels: Tensor) -> list[Tensor] | None:
    """Return predicted classes and labels of some samples, or None if the shapes do not match."""
    if labels.is_floating_point() or labels.dim() != predictions.dim() - 1:
        return None
    if predictions.dim() < _MATRIX_DIMENSIONS or predictions.shape[1] > _MAX_CLASSES:
        return None
    if predictions.dim() > _MATRIX_DIMENSIONS:
        positions = predictions[0, 0].numel()
        images = max(1, _MAX_SAMPLES // positions)
        predictions, labels = predictions[:images].flatten(2), labels[:images].flatten(1)
        step = -(-labels.numel() // _MAX_SAMPLES)
        predictions, labels = predictions[:, :, ::step], labels[:, ::step]
    else:
        predictions, labels = predictions[:_MAX_SAMPLES], labels[:_MAX_SAMPLES]
    return [predictions.argmax(1).reshape(-1), labels.reshape(-1).to(torch.int64)]


def _binary_pairs(predictions: Tensor, labels: Tensor, threshold: float) -> list[Tensor] | None:
    """Return predicted classes and labels of a binary loss."""
    if predictions.numel() != len(predictions) or labels.shape != predictions.shape:
        return None
    predicted = (predictions.reshape(-1)[:_MAX_SAMPLES] > threshold).to(torch.int64)
    return [predicted, (labels.reshape(-1)[:_MAX_SAMPLES] > _POSITIVE_LABEL).to(torch.int64)]


def producer_of(operation: Any) -> str:
    """Return the operation that computed a tensor, by its name in the autograd graph."""
    for _ in range(_MAX_RESHAPES):
        if operation is None:
            return ""
        name = type(operation).__name__.rstrip("0123456789").removesuffix("Backward")
        if name not in _RESHAPING:
            return name
        operation = operation.next_functions[0][0]
    return ""
