"""Error rate and loss of training between two evaluations."""

from dataclasses import dataclass
from math import inf

import numpy as np

from sonde.analyze.robust import median_of
from sonde.read.window import Window
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import ClassHits
from sonde.records.step import Mode
from sonde.rules._rule import State
from sonde.rules.measures.accuracy import hits_of

_HITS = ObservationKind.CLASS_HITS.value


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much training is remembered between evaluations.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_losses: int = 500  # the latest ones


LIMITS = Calibration()

Result = tuple[float, float | None]  # the share of wrong predictions, and the loss


class TrainingSince:
    """Collects training results since the previous evaluation, over several windows."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, window: Window, end: float = inf) -> None:
        """Add the steps of a window before step `end` that have not been added yet."""
        state = self._state
        first = state.get("next", 0)
        for observation in window.observations(_HITS):
            if observation.mode == Mode.TRAIN.value and first <= observation.step < end:
                hits = hits_of(ClassHits.of(observation).counts)
                state["right"] = state.get("right", 0.0) + (hits.correct if hits else 0.0)
                state["samples"] = state.get("samples", 0.0) + (hits.samples if hits else 0.0)
        for curve in window.losses()[:1]:
            is_new = (curve.steps >= first) & (curve.steps < end) & np.isfinite(curve.values)
            state["losses"] = (state.get("losses", []) + curve.values[is_new].tolist())[
                -LIMITS.max_losses :
            ]
        for table in window.steps()[:1]:
            state["next"] = max(first, int(min(end, table.steps[-1] + 1)))

    def take(self) -> Result | None:
        """Return and clear the collected results; None if no predictions were inspected."""
        state, next_step = self._state, self._state.get("next", 0)
        samples, losses = state.get("samples", 0.0), state.get("losses", [])
        result = None
        if samples:
            result = (1 - state["right"] / samples, median_of(losses) if losses else None)
        state.clear()
        state["next"] = next_step
        return result
