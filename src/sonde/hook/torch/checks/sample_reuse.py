"""Whether samples of an evaluation were trained on before, told by marks of single rows.

All rows of a batch are marked alike wherever they come, so that the order does not matter. Of very
many marks only the lowest are kept: the same samples are chosen in training and in evaluation.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.hook.session import Session
from sonde.hook.torch.tensors.row_samples import MOST_ROWS, FewRows, joined
from sonde.records.observation import ObservationKind

Marks = NDArray[np.uint64]

_MOST_KNOWN = 4096
_MOST_BATCHES = 4096  # of one evaluation
_LATEST = 2  # batches: one that is looked at again right after its step is no validation
_IS_THE_SAME = 0.9
_TIMES_A_BATCH = 4  # who trains or evaluates on less than that looks at a few batches on purpose
_LARGEST = np.uint64(2**64 - 1)
_FACTORS = np.random.default_rng(2026).integers(2**62, 2**63, 1024, dtype=np.uint64) | np.uint64(1)
_WORDS = {0: "<u8", 4: "<u4", 2: "<u2", 6: "<u2"}  # by the bytes of a row beyond a multiple of 8


class Given(NamedTuple):
    """A batch that a model was given."""

    is_training: bool
    inputs: tuple[FewRows, ...]
    series: Any = None  # of evaluations, which has a name by the time it is told

    @property
    def rows(self) -> int:
        """Its rows."""
        return self.inputs[0].rows

    @property
    def form(self) -> tuple[bool, int, list[tuple[int, str, int]]]:
        """Batches of one form and one series can be marked together."""
        return self.is_training, id(self.series), [one.form for one in self.inputs]


@dataclass(slots=True)
class _Evaluated:
    """Batches of one series since the last training step."""

    series: Any
    batches: list[Marks] = field(default_factory=list)
    rows: int = 0


class SamplesAgain:
    """Remembers marks of what was trained on; used by one thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.forget()

    def forget(self) -> None:
        """A training begins."""
        self._known: Marks = np.empty(0, np.uint64)
        self._limit = _LARGEST
        self._latest: list[Marks] = []
        self._batch = 0  # rows of the largest batch that was trained on
        self._rows = self._again = 0  # trained on since the last evaluation; of these known before
        self._evaluated: dict[int, _Evaluated] = {}  # by series

    def take(self, batches: Iterable[Given], at: tuple[str, int]) -> None:
        """Batches in their order."""
        for (is_training, *_), group in groupby(batches, lambda one: one.form):
            alike = list(group)
            rows = alike[0].rows
            marks = _marks(alike).reshape(len(alike), -1)
            if is_training:
                self.end_evaluation(at)
                self._train(rows, marks)
            else:
                self._evaluate(rows, marks, alike[0].series)

    def _train(self, size: int, marks: Marks) -> None:
        self._batch = max(self._batch, size)
        self._latest = [*self._latest, *marks[-_LATEST:]][-_LATEST:]
        rows = marks[marks <= self._limit]
        found = _distinct(rows)
        fresh = found[~_are_in(found, self._known)]
        self._rows += len(rows)
        self._again += len(rows) - len(fresh)
        known = np.sort(np.concatenate([self._known, fresh]))
        if len(known) > _MOST_KNOWN:
            known = known[:_MOST_KNOWN]
            self._limit = known[-1]
        self._known = known

    def _evaluate(self, size: int, marks: Marks, series: Any) -> None:
        latest = _distinct(np.concatenate(self._latest)) if self._latest else marks[:0, 0]
        is_latest = _are_in(marks, latest).mean(1) >= _IS_THE_SAME
        evaluated = self._evaluated.setdefault(id(series), _Evaluated(series))
        for own in marks[~is_latest][: _MOST_BATCHES - len(evaluated.batches)]:
            evaluated.batches.append(own[own <= self._limit])
            evaluated.rows += size

    def end_evaluation(self, at: tuple[str, int]) -> None:
        """Tells what was found in each series, if that was one of more than a few batches."""
        all_, self._evaluated = self._evaluated, {}
        least = _TIMES_A_BATCH * min(self._batch, MOST_ROWS)
        has_trained = len(self._known) == _MOST_KNOWN or len(self._known) >= least > 0
        trained = {"trained": len(self._known), "rows": self._rows, "again": self._again}
        for one in all_.values():
            if has_trained and one.rows >= _TIMES_A_BATCH * self._batch:
                self._rows = self._again = 0
                self._tell(one, trained, at)

    def _tell(self, one: "_Evaluated", trained: dict[str, int], at: tuple[str, int]) -> None:
        facts = _compared(one.batches, self._known)
        share = facts["known"] / max(1, facts["samples"])
        name = getattr(one.series, "name", "") or "input"
        is_training_data = bool(getattr(one.series, "is_training_data", False))
        document = facts | trained | {"is_training_data": is_training_data}
        detail = json.dumps(document, separators=(",", ":"))
        self._session.recorder.observe(ObservationKind.SAMPLES_AGAIN, name, share, detail, at)


def _compared(batches: list[Marks], known: Marks) -> dict[str, int]:
    """How many samples there are, how many of them are known, and whether batches have both."""
    rows, times = _counted(np.concatenate(batches))
    often = int(np.argmax(np.bincount(times))) if len(times) else 0  # passes over the same data
    pairs = mixed = 0
    for own in batches:
        seen = int(_are_in(own, known).sum())
        pairs += len(own) * (len(own) - 1) // 2
        mixed += seen * (len(own) - seen)
    return {
        "samples": len(rows),
        "known": int(_are_in(rows, known).sum()),
        "repeated": int((times > often).sum()),
        "pairs": pairs,
        "mixed": mixed,
    }


def _marks(batches: list[Given]) -> Marks:
    """Of all rows of batches of one form."""
    total: Marks = np.zeros(1, np.uint64)
    place = 0
    for position, one in enumerate(batches[0].inputs):
        size = one.width * np.dtype(one.kind).itemsize
        words = joined([batch.inputs[position] for batch in batches], _WORDS.get(size % 8, "|u1"))
        factors = _FACTORS[place : place + words.shape[1]]
        total = total + words.astype(np.uint64) @ factors
        place += words.shape[1]
    for shift in (32, 29, 32):
        total ^= total >> np.uint64(shift)
        total *= _FACTORS[-1]
    return total ^ (total >> np.uint64(32))


def _counted(marks: Marks) -> tuple[Marks, NDArray[np.int64]]:
    """The distinct ones in order, and how often each occurs.

    `np.unique` would import `numpy.ma` in the training process: tens of milliseconds, and the
    objects it adds make Python collect garbage for 150 ms.
    """
    ordered = np.sort(marks)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    return ordered[starts], np.diff(starts, append=len(ordered))


def _distinct(marks: Marks) -> Marks:
    return _counted(marks)[0]


def _are_in(marks: Marks, known: Marks) -> NDArray[np.bool_]:
    """Which of them are among sorted ones."""
    if not len(known):
        return np.zeros(marks.shape, np.bool_)
    places = np.minimum(np.searchsorted(known, marks), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == marks
    return found
