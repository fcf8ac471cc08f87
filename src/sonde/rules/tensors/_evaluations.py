"""What evaluations of a training tell beside its steps: losses, hits, and batches seen before."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import middle_of
from sonde.read.window import Window
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.rules._rule import State

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_HITS = ObservationKind.CLASS_HITS.value
_FEW_BATCHES = 4
_MANY_STEPS = 20


@dataclass(frozen=True)
class Hits:
    """How many samples of each class were predicted rightly, and how many there were."""

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
    def beyond_chance(self) -> float:
        """The highest accuracy that may be chance: three standard errors above, and a little."""
        error = math.sqrt(self.chance * (1 - self.chance) / self.samples)
        return self.chance + max(0.03, 3 * error)


def hits(window: Window, mode: str) -> Hits | None:
    """All predictions of a mode in a window that the hook has looked at."""
    right: dict[str, float] = {}
    counts: dict[str, float] = {}
    for one in window.observations(_HITS):
        if one.mode != mode:
            continue
        for name, (is_right, is_wrong) in one.facts.items():
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
    finite = [one.values[np.isfinite(one.values)] for one in curves]
    if len(finite) != 1 or not len(finite[0]):
        return None
    return middle_of(finite[0]) if mode == _TRAIN else float(finite[0].mean())


def is_same_batch_again(window: Window, state: State) -> bool:
    """Whether a training uses a few batches over and over: a test whether it can learn them."""
    seen = [
        int(one.value)
        for one in window.observations(ObservationKind.BATCH_HASH.value)
        if one.mode == _TRAIN
    ]
    known = set(state.get("first_marks", [])) | set(seen[:_MANY_STEPS])
    state["first_marks"] = sorted(known)[: _FEW_BATCHES + 1]
    state["marked"] = state.get("marked", 0) + len(seen)
    return state["marked"] >= _MANY_STEPS and len(state["first_marks"]) <= _FEW_BATCHES
