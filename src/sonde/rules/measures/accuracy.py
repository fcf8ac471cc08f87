"""Losses and correct predictions of evaluations, and batches that are trained repeatedly."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import median_of
from sonde.read.window import Window
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.rules._rule import State

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_HITS = ObservationKind.CLASS_HITS.value


@dataclass(frozen=True, slots=True)
class Calibration:
    """When the same few batches are trained repeatedly.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    few_batches: int = 4
    many_steps: int = 20


LIMITS = Calibration()


@dataclass(frozen=True)
class Hits:
    """The number of correct predictions and of samples, per class."""

    right: float
    samples: float
    largest_class: float  # samples of the most frequent class: who always says it is right so often

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return self.right / self.samples

    @property
    def chance(self) -> float:
        """What is reached by always saying the same."""
        return self.largest_class / self.samples

    @property
    def chance_limit(self) -> float:
        """The highest accuracy that may be chance: three standard errors above, and a little."""
        error = math.sqrt(self.chance * (1 - self.chance) / self.samples)
        return self.chance + max(0.03, 3 * error)


def hits(window: Window, mode: str) -> Hits | None:
    """All inspected predictions of a mode in a window."""
    right: dict[str, float] = {}
    counts: dict[str, float] = {}
    for observation in window.observations(_HITS):
        if observation.mode != mode:
            continue
        for name, (is_right, is_wrong) in observation.facts.items():
            right[name] = right.get(name, 0.0) + is_right
            counts[name] = counts.get(name, 0.0) + is_right + is_wrong
    total = sum(counts.values())
    return Hits(sum(right.values()), total, max(counts.values())) if total else None


def hits_of(counts: Mapping[str, Sequence[int]]) -> Hits | None:
    """The hits of one evaluation, from right and wrong predictions by label."""
    samples = [right + wrong for right, wrong in counts.values()]
    if not sum(samples):
        return None
    return Hits(sum(right for right, _ in counts.values()), sum(samples), max(samples))


def mean_loss(window: Window, mode: str) -> float | None:
    """The middle of the only loss of a mode in a window; None where there are several or none."""
    curves = window.losses(mode)
    finite = [curve.values[np.isfinite(curve.values)] for curve in curves]
    if len(finite) != 1 or not len(finite[0]):
        return None
    return median_of(finite[0]) if mode == _TRAIN else float(finite[0].mean())


def is_same_batch_again(window: Window, state: State) -> bool:
    """Whether a training uses a few batches over and over: a test whether it can learn them."""
    batch_hashes = [
        int(observation.value)
        for observation in window.observations(ObservationKind.BATCH_HASH.value)
        if observation.mode == _TRAIN
    ]
    hashes = set(state.get("first_marks", [])) | set(batch_hashes[: LIMITS.many_steps])
    state["first_marks"] = sorted(hashes)[: LIMITS.few_batches + 1]
    state["marked"] = state.get("marked", 0) + len(batch_hashes)
    return state["marked"] >= LIMITS.many_steps and len(state["first_marks"]) <= LIMITS.few_batches
