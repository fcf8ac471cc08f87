"""Labels passed to loss functions: how often each class occurs, and in which order."""

import ctypes
from array import array
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from sonde.hook.steps import FinishedStep, Pass, StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.measures.batch_means import BatchMeans
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.row_samples import sample_rows
from sonde.records.notice import NoticeKind
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import LabelCounts

_CODES = {torch.int64: "q", torch.int32: "i", torch.int16: "h", torch.uint8: "B"}
_CLASS_LOSSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
_MAX_CLASSES = 1000
_MAX_LABELS = 4096  # per batch; copying this many takes a few microseconds
_EVERY_STEPS = 100
_MAX_PENDING_BYTES = 4 * 1024 * 1024


class Labels(StateCheck):
    """Copy labels and count them in the worker thread."""

    name = "labels"
    observes = (ObservationKind.LABEL_HISTOGRAM, ObservationKind.BATCH_MEANS)
    order = 120

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._code = "q"
        self._means = BatchMeans(context.session, "labels")
        self.begin()

    def begin(self) -> None:
        """Forget labels of an earlier training run."""
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._needs_means = self._session.plan.needs(ObservationKind.BATCH_MEANS)

    def loss_called(self, name: str, forward: ForwardPass, predictions: Any, labels: Any) -> None:
        """Copy the labels of a training batch."""
        if forward.kind is Pass.TRAIN:
            self.deferred_loss_called(name, labels)
            if name in _CLASS_LOSSES:
                self._count(predictions, labels)

    def deferred_loss_called(self, name: str, labels: Any) -> None:
        """Sample the labels of a training batch, of any type, for batch means."""
        if not self._needs_means or self._means.has_enough:
            return
        if isinstance(labels, Tensor):
            rows = sample_rows(labels) if labels.numel() <= _MAX_LABELS else None
            if rows is not None:
                self._means.add(rows)

    def _count(self, predictions: Any, labels: Any) -> None:
        """Copy the labels of a batch, if there are few classes and copying is cheap."""
        if type(labels) is not Tensor or type(predictions) is not Tensor:
            return
        code, shape = _CODES.get(labels.dtype), predictions.shape
        if code is None or not shape or shape[1 if len(shape) > 1 else 0] > _MAX_CLASSES:
            return
        if not labels.is_cpu:
            self._skip("the labels are on a device")
        elif labels.numel() > _MAX_LABELS:
            self._skip(f"more than {_MAX_LABELS:,} labels in a batch")
        elif labels.is_contiguous():
            self._store(labels, code)

    def _skip(self, reason: str) -> None:
        self._session.store.notice(NoticeKind.NOT_COLLECTED, "label histograms", reason)

    def _store(self, labels: Tensor, code: str) -> None:
        if code != self._code:
            self._hand_over()
            self._code = code
        size = labels.nbytes
        self._pending.append(ctypes.string_at(labels.data_ptr(), size))
        self._pending_bytes += size
        if self._pending_bytes > _MAX_PENDING_BYTES:
            self._hand_over()

    def after_step(self, step: FinishedStep) -> None:
        """Record a histogram every 100 training steps."""
        if step.mode == "train" and step.number % _EVERY_STEPS == _EVERY_STEPS - 1:
            self._hand_over((step.mode, step.number))

    def end(self) -> None:
        """Record the last histogram."""
        self._hand_over()

    def _hand_over(self, at: StepId | None = None) -> None:
        if not self._pending:
            return
        pending, code = self._pending, self._code
        self._pending, self._pending_bytes = [], 0
        steps = self._session.steps
        last = at or (steps.mode, max(0, steps.number - 1))
        self._session.worker_thread.submit(self.name, lambda: self._record(pending, code, last))

    def _record(self, pending: list[bytes], code: str, at: StepId) -> None:
        counts = Counter(array(code, b"".join(pending)))
        histogram = {str(label): counts[label] for label in sorted(counts) if label >= 0}
        kind, total = ObservationKind.LABEL_HISTOGRAM, float(sum(histogram.values()))
        self._observe(kind, "labels", total, LabelCounts(histogram), at)
