"""Means of consecutive training batches, which show whether data is ordered."""

from collections import Counter
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.tensors.row_samples import RowSample, join_samples
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import MeansOfBatches

_BATCHES_PER_RECORD = 100
_MAX_BATCHES = 1000  # if data is ordered, this many batches show it
_MIN_ROWS = 4
_TASK = "batch means"

Reals = NDArray[np.float64]


class BatchMeans:
    """Collect row samples of batches and record their means."""

    def __init__(self, session: Session, subject: str) -> None:
        self._session = session
        self._subject = subject
        self._reset()
        session.listeners.on_begin(self._reset)
        session.listeners.on_end(self._hand_over)

    def _reset(self) -> None:
        self._pending: list[RowSample] = []
        self._recorded = 0
        self._origin: tuple[float, float] | None = None  # the first mean, and the unit

    @property
    def has_enough(self) -> bool:
        """Whether enough batches were recorded."""
        return self._recorded >= _MAX_BATCHES

    def add(self, rows: RowSample) -> None:
        """Add a training batch."""
        if not self.has_enough:
            self._pending.append(rows)
            if len(self._pending) >= _BATCHES_PER_RECORD:
                self._hand_over()

    def _hand_over(self) -> None:
        pending, self._pending = self._pending, []
        self._recorded += len(pending)
        if pending:
            steps = self._session.steps
            at = ("train", max(0, steps.counts["train"] - 1))
            self._session.worker_thread.submit(_TASK, lambda: self._record(pending, at))

    def _record(self, pending: list[RowSample], at: StepId) -> None:
        form, _ = Counter([batch.form for batch in pending]).most_common(1)[0]
        same_shape = [batch for batch in pending if batch.form == form]
        numbers = join_samples(same_shape).astype(np.float64).mean(1).reshape(len(same_shape), -1)
        size = numbers.shape[1]
        if size < _MIN_ROWS or not np.isfinite(numbers).all():
            return
        within = float(numbers.var(1, ddof=1).mean())
        if self._origin is None:
            unit = sqrt(within) or float(numbers.std()) or 1.0
            self._origin = (float(numbers.mean()), unit)
        first, unit = self._origin
        steps = float(np.square(np.diff(numbers, axis=1)).mean()) / 2
        means = MeansOfBatches(
            means=tuple([round(mean, 3) for mean in ((numbers.mean(1) - first) / unit).tolist()]),
            within=within / unit**2,
            rough=round(steps / within, 3) if within else 1.0,
            size=size,
        )
        kind, detail = ObservationKind.BATCH_MEANS, means.encode()
        self._session.recorder.observe(kind, self._subject, float(len(same_shape)), detail, at)
