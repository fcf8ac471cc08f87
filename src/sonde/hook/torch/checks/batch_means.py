"""The means of batches in the order in which they are trained on: whether that order matters."""

import json
from collections import Counter
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sonde.hook.session import Session
from sonde.hook.steps import At
from sonde.hook.torch.tensors.row_samples import FewRows, joined
from sonde.records.observation import ObservationKind

_TOGETHER = 100  # batches
_MOST = 1000  # batches: an order that is not seen by then is none
_LEAST_ROWS = 4
_PART = "the order of batches"

Reals = NDArray[np.float64]


class BatchMeans:
    """Keeps what batches hold, of one kind of tensors, until their means are told."""

    def __init__(self, session: Session, subject: str) -> None:
        self._session = session
        self._subject = subject
        self._start_anew()
        session.listeners.on_begin(self._start_anew)
        session.listeners.on_end(self._hand_over)

    def _start_anew(self) -> None:
        self._waiting: list[FewRows] = []
        self._told = 0
        self._origin: tuple[float, float] | None = None  # the first mean, and the unit

    @property
    def has_enough(self) -> bool:
        """Whether no further batch is wanted."""
        return self._told >= _MOST

    def add(self, rows: FewRows) -> None:
        """A batch that is trained on."""
        if not self.has_enough:
            self._waiting.append(rows)
            if len(self._waiting) >= _TOGETHER:
                self._hand_over()

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._told += len(waiting)
        if waiting:
            steps = self._session.steps
            at = ("train", max(0, steps.counts["train"] - 1))
            self._session.worker_thread.hand(_PART, lambda: self._record(waiting, at))

    def _record(self, waiting: list[FewRows], at: At) -> None:
        form, _ = Counter([one.form for one in waiting]).most_common(1)[0]
        alike = [one for one in waiting if one.form == form]
        numbers = joined(alike).astype(np.float64).mean(1).reshape(len(alike), -1)
        size = numbers.shape[1]
        if size < _LEAST_ROWS or not np.isfinite(numbers).all():
            return
        within = float(numbers.var(1, ddof=1).mean())
        if self._origin is None:
            unit = sqrt(within) or float(numbers.std()) or 1.0
            self._origin = (float(numbers.mean()), unit)
        first, unit = self._origin
        steps = float(np.square(np.diff(numbers, axis=1)).mean()) / 2
        facts = {
            "means": [round(one, 3) for one in ((numbers.mean(1) - first) / unit).tolist()],
            "within": within / unit**2,
            "rough": round(steps / within, 3) if within else 1.0,
            "size": size,
        }
        detail = json.dumps(facts, separators=(",", ":"))
        kind = ObservationKind.BATCH_MEANS
        self._session.recorder.observe(kind, self._subject, float(len(alike)), detail, at)
