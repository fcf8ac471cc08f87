"""Overtraining: training continues long after the loss has stopped improving."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of
from sonde.analyze.trends import average_pairs, noise_around_bend
from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.records.arrays import FloatArray
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.held_out_evaluations import evaluations

_TRAINING, _VALIDATION = "training", "validation"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Overtraining.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_stale_windows: int = 100  # of 50 training steps
    min_stale_evaluations: int = 20
    stale_factor: int = 3  # times as long as it took to reach the best value
    min_stale_steps: int = 200  # an epoch may be a handful of steps
    smoothed_values: int = 3  # their median is the current level
    progress_share: float = 0.1  # of all progress; a larger rise is left to other rules
    sigmas: float = 2.0  # times the noise
    max_values: int = 256  # beyond it, neighbors are averaged


LIMITS = Calibration()


class Overtraining(Rule):
    """Training continues although the loss has stopped improving.

    Why it matters: Every further step costs time, and often makes the model worse.
    How it decides:
    - No progress for 20 evaluations and 200 steps (without evaluations: 5,000 steps), and for 3
      times as long as it took to get there.
    - Progress is an improvement by more than twice the noise and 1% of all progress so far.
    - Only evaluations of data that is not trained on count. A loss that rises again is left to
      Overfit.
    - Not applied to alternating losses and losses that change sign.
    - Classic: no improvement by `delta` for `patience_train` steps or `patience_validation`
      evaluations.
    What to do: Stop earlier and keep the checkpoint of the best evaluation. Lower the learning rate
    where the loss is stuck.
    """

    patience_train: Count = 5
    patience_validation: Count = 10
    delta: Positive = 0.01

    section = Section.TRAINING
    calibration = LIMITS
    classic_defaults: ClassVar[Mapping[str, object]] = {"delta": 0.1}
    needs = (Losses(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look for progress in the training loss or the validation loss."""
        curves = window.losses()
        results, _ = evaluations(window, state)
        if len(curves) > 1:
            state["unfit"] = "with alternating losses, none of them has to decrease"
        if curves and self.is_classic:
            for step, value in curves[0]:
                yield from self._check_classic(_TRAINING, step, value, state.of(_TRAINING))
        elif curves:
            has_values = _add_training(curves[0], state)
            # with validation, the training loss does not have to fall
            if has_values and not (state.of(_VALIDATION) or results or self.unfit(state)):
                step = int(curves[0].steps[-1])
                yield from self._check_calibrated(_TRAINING, step, state.of(_TRAINING))
        for result in results:
            validation_state = state.of(_VALIDATION)
            if self.is_classic:
                yield from self._check_classic(
                    _VALIDATION, result.step, result.loss, validation_state
                )
            else:
                _add(result.step, result.loss, validation_state)
                yield from self._check_calibrated(_VALIDATION, result.step, validation_state)

    def unfit(self, state: State) -> str:
        """Return a reason if the loss need not decrease."""
        if len(state.get("signs", [])) > 1:
            return "the loss changes sign, so it need not decrease"
        return str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many evaluations or steps are missing."""
        if self.is_classic:
            return ""
        is_evaluated = bool(state.of(_VALIDATION))
        kind = _VALIDATION if is_evaluated else _TRAINING
        count, minimum = int(state.of(kind).get("seen", 0)), self._min_stale(kind)
        if count >= minimum:
            return ""
        if is_evaluated:
            return Shortfall(count, minimum, DataUnit.EVALUATIONS)
        steps = int(state.get("steps", 0))
        return Shortfall(steps, self.window_steps * minimum, DataUnit.STEPS)

    def _check_classic(self, kind: str, step: int, value: float, state: State) -> Iterator[Finding]:
        patience = self.patience_train if kind == _TRAINING else self.patience_validation
        if "best" not in state or value < state["best"] - self.delta:
            state |= {"best": value, "best_step": step, "stale": 0}
            yield self.recovered(kind)
            return
        state["stale"] += 1
        if state["stale"] >= patience:
            yield self._finding(kind, step, value, state)

    def _check_calibrated(self, kind: str, step: int, state: State) -> Iterator[Finding]:
        values, steps = state["values"], state["steps"]
        series = np.array(values)
        if len(series) < LIMITS.smoothed_values:
            return
        best_index, best, minimum = self._find_best(series)
        until_best, since_best = best_index + 1, len(values) - best_index - 1
        width = int(state.get("width", 1))
        needed = max(self._min_stale(kind), self._stale_factor(kind) * width * until_best)
        current = median_of(series[-LIMITS.smoothed_values :])
        if width * since_best < needed:
            # noise moves the best index, so resolve only after clear progress
            yield from (self.recovered(kind),) if 2 * width * since_best < needed else ()
            return
        has_turned = current - best > max(minimum, LIMITS.progress_share * (values[0] - best))
        if has_turned or (
            step - steps[best_index] < LIMITS.min_stale_steps and self._stale_factor(kind)
        ):
            return
        progress = {"best": best, "best_step": steps[best_index], "stale": width * since_best}
        yield self._finding(kind, step, current, State(progress))

    def _find_best(self, values: FloatArray) -> tuple[int, float, float]:
        """Return the index at which the best value was first reached, it, and its tolerance."""
        first, second, third = values[:-2], values[1:-1], values[2:]
        lower, higher = np.minimum(first, second), np.maximum(first, second)
        best = float(np.maximum(lower, np.minimum(higher, third)).min())
        minimum = self.delta
        if "delta" not in self.explicit_parameters:
            progress = max(float(values[0]) - best, 0.0)
            minimum = max(self.delta * progress, LIMITS.sigmas * noise_around_bend(values))
        return int(np.flatnonzero(values <= best + minimum)[0]), best, minimum

    def _min_stale(self, kind: str) -> int:
        name = "patience_train" if kind == _TRAINING else "patience_validation"
        if name in self.explicit_parameters:
            return int(getattr(self, name))
        return LIMITS.min_stale_windows if kind == _TRAINING else LIMITS.min_stale_evaluations

    def _stale_factor(self, kind: str) -> int:
        name = "patience_train" if kind == _TRAINING else "patience_validation"
        return 0 if name in self.explicit_parameters else LIMITS.stale_factor

    def _finding(self, kind: str, step: int, value: float, state: State) -> Finding:
        return self.finding(
            f"The {kind} loss has not improved since step {state['best_step']}: it was "
            f"{state['best']:.4g} and is {value:.4g} at step {step}.",
            step=(int(state["best_step"]), step),
            subject=kind,
            evidence={
                "best": state["best"],
                "best_step": state["best_step"],
                "now": value,
                "without_progress": state["stale"],
            },
        )


def _add_training(curve: Curve, state: State) -> bool:
    """Add the mean loss of a window; return whether it has finite losses."""
    finite = curve.values[np.isfinite(curve.values)]
    signs = {*state.get("signs", []), *np.sign(finite).tolist()} - {0.0}
    state["signs"] = sorted(signs)
    state["steps"] = state.get("steps", 0) + len(curve)
    if len(finite):
        _add(int(curve.steps[-1]), float(finite.mean()), state.of(_TRAINING))
    return bool(len(finite))


def _add(step: int, value: float, state: State) -> None:
    state["seen"] = state.get("seen", 0) + 1
    values, steps = [*state.get("values", []), value], [*state.get("steps", []), step]
    if len(values) > LIMITS.max_values:
        values, steps = average_pairs(np.array(values)).tolist(), steps[1::2]
        state["width"] = 2 * state.get("width", 1)
    state["values"], state["steps"] = values, steps
