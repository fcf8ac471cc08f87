"""Detection of evaluation samples that were used in training, by hashes of rows.

Equal rows have equal hashes, so their order does not matter. Of many hashes, only
the lowest are kept, so that training and evaluation select the same samples.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.tensors.row_samples import MAX_ROWS, RowSample, join_samples
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import EvaluatedSamples

Hashes = NDArray[np.uint64]

_MAX_HASHES = 4096
_MAX_BATCHES = 4096  # of one evaluation
_RECENT_BATCHES = 2  # a batch that is evaluated right after its step is not validation data
_SAME_BATCH_SHARE = 0.9
_MIN_BATCHES = 4  # scripts may evaluate on a few training batches on purpose
_LARGEST = np.uint64(2**64 - 1)
_FACTORS = np.random.default_rng(2026).integers(2**62, 2**63, 1024, dtype=np.uint64) | np.uint64(1)
_WORDS = {0: "<u8", 4: "<u4", 2: "<u2", 6: "<u2"}  # by the row size in bytes modulo 8


class Batch(NamedTuple):
    """Samples of a model's input batch."""

    is_training: bool
    inputs: tuple[RowSample, ...]
    series: Any = None  # of an evaluation; it gets its name before it is recorded

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.inputs[0].rows

    @property
    def form(self) -> tuple[bool, int, list[tuple[int, str, int]]]:
        """A key; batches with equal keys can be hashed together."""
        return self.is_training, id(self.series), [sample.form for sample in self.inputs]


@dataclass(slots=True)
class _Evaluation:
    """Batches of one evaluation since the last training step."""

    series: Any
    batches: list[Hashes] = field(default_factory=list)
    rows: int = 0


class SampleReuse:
    """Compare evaluation samples with training samples; used by one thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.forget()

    def forget(self) -> None:
        """Forget all samples when a new training run begins."""
        self._trained_hashes: Hashes = np.empty(0, np.uint64)
        self._limit = _LARGEST
        self._recent: list[Hashes] = []
        self._max_batch_rows = 0  # of training batches
        self._trained_rows = self._repeated_rows = 0  # since the last evaluation
        self._evaluations: dict[int, _Evaluation] = {}  # by series

    def take(self, batches: Iterable[Batch], at: StepId) -> None:
        """Add batches in order."""
        for (is_training, *_), group in groupby(batches, lambda batch: batch.form):
            group_batches = list(group)
            rows = group_batches[0].rows
            hashes = _hash_rows(group_batches).reshape(len(group_batches), -1)
            if is_training:
                self.end_evaluation(at)
                self._train(rows, hashes)
            else:
                self._evaluate(rows, hashes, group_batches[0].series)

    def _train(self, size: int, hashes: Hashes) -> None:
        self._max_batch_rows = max(self._max_batch_rows, size)
        self._recent = [*self._recent, *hashes[-_RECENT_BATCHES:]][-_RECENT_BATCHES:]
        rows = hashes[hashes <= self._limit]
        distinct = _distinct(rows)
        new_hashes = distinct[~_are_in(distinct, self._trained_hashes)]
        self._trained_rows += len(rows)
        self._repeated_rows += len(rows) - len(new_hashes)
        trained_hashes = np.sort(np.concatenate([self._trained_hashes, new_hashes]))
        if len(trained_hashes) > _MAX_HASHES:
            trained_hashes = trained_hashes[:_MAX_HASHES]
            self._limit = trained_hashes[-1]
        self._trained_hashes = trained_hashes

    def _evaluate(self, size: int, hashes: Hashes, series: Any) -> None:
        latest = _distinct(np.concatenate(self._recent)) if self._recent else hashes[:0, 0]
        is_latest = _are_in(hashes, latest).mean(1) >= _SAME_BATCH_SHARE
        evaluated = self._evaluations.setdefault(id(series), _Evaluation(series))
        for batch_hashes in hashes[~is_latest][: _MAX_BATCHES - len(evaluated.batches)]:
            evaluated.batches.append(batch_hashes[batch_hashes <= self._limit])
            evaluated.rows += size

    def end_evaluation(self, at: StepId) -> None:
        """Record the result of each evaluation that has more than a few batches."""
        evaluations, self._evaluations = self._evaluations, {}
        min_rows = _MIN_BATCHES * min(self._max_batch_rows, MAX_ROWS)
        has_trained = (
            len(self._trained_hashes) == _MAX_HASHES or len(self._trained_hashes) >= min_rows > 0
        )
        trained = EvaluatedSamples(
            trained=len(self._trained_hashes),
            trained_rows=self._trained_rows,
            trained_again=self._repeated_rows,
        )
        for evaluation in evaluations.values():
            if has_trained and evaluation.rows >= _MIN_BATCHES * self._max_batch_rows:
                self._trained_rows = self._repeated_rows = 0
                self._report(evaluation, trained, at)

    def _report(self, evaluation: _Evaluation, trained: EvaluatedSamples, at: StepId) -> None:
        compared = _compare(evaluation.batches, self._trained_hashes, trained)
        name = getattr(evaluation.series, "name", "") or "input"
        is_training_data = bool(getattr(evaluation.series, "is_training_data", False))
        detail = replace(compared, is_training_data=is_training_data).encode()
        kind, share = ObservationKind.SAMPLES_AGAIN, compared.known_share
        self._session.recorder.observe(kind, name, share, detail, at)


def _compare(
    batches: list[Hashes], trained_hashes: Hashes, trained: EvaluatedSamples
) -> EvaluatedSamples:
    """Add the number of samples, known samples, and pairs of known and new samples in a batch."""
    rows, times = _count(np.concatenate(batches))
    typical_count = (
        int(np.argmax(np.bincount(times))) if len(times) else 0
    )  # passes over the same data
    pairs = mixed = 0
    for batch_hashes in batches:
        matches = int(_are_in(batch_hashes, trained_hashes).sum())
        pairs += len(batch_hashes) * (len(batch_hashes) - 1) // 2
        mixed += matches * (len(batch_hashes) - matches)
    return replace(
        trained,
        samples=len(rows),
        known=int(_are_in(rows, trained_hashes).sum()),
        repeated=int((times > typical_count).sum()),
        pairs=pairs,
        mixed=mixed,
    )


def _hash_rows(batches: list[Batch]) -> Hashes:
    """Hash all rows of batches with equal form."""
    total: Hashes = np.zeros(1, np.uint64)
    offset = 0
    for position, sample in enumerate(batches[0].inputs):
        size = sample.width * np.dtype(sample.kind).itemsize
        words = join_samples(
            [batch.inputs[position] for batch in batches], _WORDS.get(size % 8, "|u1")
        )
        factors = _FACTORS[offset : offset + words.shape[1]]
        total = total + words.astype(np.uint64) @ factors
        offset += words.shape[1]
    for shift in (32, 29, 32):
        total ^= total >> np.uint64(shift)
        total *= _FACTORS[-1]
    return total ^ (total >> np.uint64(32))


def _count(hashes: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """Return distinct hashes in order, and how often each occurs.

    `np.unique` would import `numpy.ma` in the training process: tens of milliseconds, and the
    objects it adds make Python collect garbage for 150 ms.
    """
    ordered = np.sort(hashes)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    return ordered[starts], np.diff(starts, append=len(ordered))


def _distinct(hashes: Hashes) -> Hashes:
    return _count(hashes)[0]


def _are_in(hashes: Hashes, sorted_hashes: Hashes) -> NDArray[np.bool_]:
    """Return which hashes are in a sorted array."""
    if not len(sorted_hashes):
        return np.zeros(hashes.shape, np.bool_)
    indices = np.minimum(np.searchsorted(sorted_hashes, hashes), len(sorted_hashes) - 1)
    is_member: NDArray[np.bool_] = sorted_hashes[indices] == hashes
    return is_member
