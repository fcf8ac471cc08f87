"""Accuracy and mean loss in a window, and whether training repeats the same few batches."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import median_of
from sonde.read.window import Window
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import ClassHits
from sonde.records.step import Mode
from sonde.rules._rule import State

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_HITS = ObservationKind.CLASS_HITS.value


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for accuracy by chance, and for training on the same few batches.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_batches: int = 4  # different ones
    min_steps: int = 20  # with these batches
    min_margin: float = 0.03  # of accuracy above chance
    sigmas: float = 3.0  # standard errors of accuracy above chance


LIMITS = Calibration()


@dataclass(frozen=True)
class Hits:
    """The number of correct predictions and of samples, per class."""

    correct: float
    samples: float
    largest_class: float  # samples of the most frequent class

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return self.correct / self.samples

    @property
    def chance(self) -> float:
        """The accuracy of always predicting the most frequent class."""
        return self.largest_class / self.samples

    @property
    def chance_limit(self) -> float:
        """The highest accuracy that may be chance."""
        error = math.sqrt(self.chance * (1 - self.chance) / self.samples)
        return self.chance + max(LIMITS.min_margin, LIMITS.sigmas * error)


def hits(window: Window, mode: str) -> Hits | None:
    """Return the hits of all inspected predictions of a mode in a window."""
    correct: dict[str, float] = {}
    counts: dict[str, float] = {}
    for observation in window.observations(_HITS):
        if observation.mode != mode:
            continue
        for name, (right, wrong) in ClassHits.of(observation).counts.items():
            correct[name] = correct.get(name, 0.0) + right
            counts[name] = counts.get(name, 0.0) + right + wrong
    total = sum(counts.values())
    return Hits(sum(correct.values()), total, max(counts.values())) if total else None


def hits_of(counts: Mapping[str, Sequence[float]]) -> Hits | None:
    """Return the hits of one evaluation, from counts of right and wrong predictions by label."""
    samples = [right + wrong for right, wrong in counts.values()]
    if not sum(samples):
        return None
    return Hits(sum(right for right, _ in counts.values()), sum(samples), max(samples))


def mean_loss(window: Window, mode: str) -> float | None:
    """Return the median training loss or mean evaluation loss of a window.

    None if there are no losses, or losses with different names.
    """
    curves = window.losses(mode)
    finite = [curve.values[np.isfinite(curve.values)] for curve in curves]
    if len(finite) != 1 or not len(finite[0]):
        return None
    return median_of(finite[0]) if mode == _TRAIN else float(finite[0].mean())


def is_same_batch_again(window: Window, state: State) -> bool:
    """Whether training repeats the same few batches, as in a test of whether it can overfit."""
    batch_hashes = [
        int(observation.value)
        for observation in window.observations(ObservationKind.BATCH_HASH.value)
        if observation.mode == _TRAIN
    ]
    hashes = set(state.get("first_marks", [])) | set(batch_hashes[: LIMITS.min_steps])
    state["first_marks"] = sorted(hashes)[: LIMITS.max_batches + 1]
    state["marked"] = state.get("marked", 0) + len(batch_hashes)
    return state["marked"] >= LIMITS.min_steps and len(state["first_marks"]) <= LIMITS.max_batches
