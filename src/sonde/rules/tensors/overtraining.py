"""Overtraining: training goes on long after it has stopped to bring anything."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import middle_of
from sonde.analyze.trends import Reals, bent_spread_of, halved
from sonde.read.window import Curve, Window
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._passes import evaluations

_TRAINING, _VALIDATION = "training", "validation"
# calibrated: so many without progress, and so many times those that it took to get there
_LEAST = {_TRAINING: 100, _VALIDATION: 20}  # windows of 50 steps; evaluations
_TIMES = 3
_STEPS = 200  # likewise: an epoch may be a handful of steps
_SMOOTHED = 3  # values whose median counts as one
_OF_PROGRESS = 0.1  # a rise by more of what was won is Overfit's, or a divergence
_SIGMAS = 2.0
_MOST = 256  # values; then neighbours are joined


class Overtraining(Rule):
    """Training goes on although neither loss has got better for long.

    Why it matters: every further step costs time, and often makes the model worse.
    How it decides: calibrated fires after 20 evaluations and 200 steps without progress (without
    evaluations: 5,000 steps), if that is 3 times as long as it took to get there. Progress is more
    than the noise and 1% of all that was won; only evaluations of data that is not trained on
    count. A loss that rises again is left to Overfit. Classic fires after `patience_train` steps or
    `patience_validation` evaluations without an improvement by `delta`.
    What to do: stop earlier; keep the checkpoint of the best evaluation; let the learning rate fall
    where the loss stands still.
    """

    patience_train: Count = 5
    patience_validation: Count = 10
    delta: Positive = 0.01

    needs = (Losses(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows both losses."""
        curves = window.losses()
        found, _ = evaluations(window, state)
        if len(curves) > 1:
            state["unfit"] = "several losses in turn: none of them has to fall"
        if curves and self.is_classic:
            for step, value in curves[0]:
                yield from self._classic(_TRAINING, step, value, state.of(_TRAINING))
        elif curves:
            is_told = _take_training(curves[0], state)
            # where there is a validation, the training loss does not have to fall
            if is_told and not (state.of(_VALIDATION) or found or self.unfit(state)):
                step = int(curves[0].steps[-1])
                yield from self._calibrated(_TRAINING, step, state.of(_TRAINING))
        for one in found:
            own = state.of(_VALIDATION)
            if self.is_classic:
                yield from self._classic(_VALIDATION, one.step, one.loss, own)
            else:
                _take(one.step, one.loss, own)
                yield from self._calibrated(_VALIDATION, one.step, own)

    def unfit(self, state: State) -> str:
        """Losses that need not fall."""
        if len(state.get("signs", [])) > 1:
            return "the loss changes its sign: it need not fall"
        return str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """How much is missing."""
        if self.is_classic:
            return ""
        is_evaluated = bool(state.of(_VALIDATION))
        kind = _VALIDATION if is_evaluated else _TRAINING
        seen, least = int(state.of(kind).get("seen", 0)), self._least(kind)
        if seen >= least:
            return ""
        if is_evaluated:
            return Shortfall(seen, least, DataUnit.EVALUATIONS)
        steps = int(state.get("steps", 0))
        return Shortfall(steps, self.window_steps * least, DataUnit.STEPS)

    def _classic(self, kind: str, step: int, value: float, state: State) -> Iterator[Finding]:
        patience = self.patience_train if kind == _TRAINING else self.patience_validation
        if "best" not in state or value < state["best"] - self.delta:
            state |= {"best": value, "best_step": step, "stale": 0}
            yield self.recovered(kind)
            return
        state["stale"] += 1
        if state["stale"] >= patience:
            yield self._found(kind, step, value, state)

    def _calibrated(self, kind: str, step: int, state: State) -> Iterator[Finding]:
        values, steps = state["values"], state["steps"]
        series = np.array(values)
        if len(series) < _SMOOTHED:
            return
        reached, best, least = self._reached(series)
        before, after = reached + 1, len(values) - reached - 1
        width = int(state.get("width", 1))
        needed = max(self._least(kind), self._times(kind) * width * before)
        now = middle_of(series[-_SMOOTHED:])
        if width * after < needed:
            # noise moves the place where it was reached: over is what is clearly so
            yield from (self.recovered(kind),) if 2 * width * after < needed else ()
            return
        has_turned = now - best > max(least, _OF_PROGRESS * (values[0] - best))
        if has_turned or (step - steps[reached] < _STEPS and self._times(kind)):
            return
        reached_at = {"best": best, "best_step": steps[reached], "stale": width * after}
        yield self._found(kind, step, now, State(reached_at))

    def _reached(self, values: Reals) -> tuple[int, float, float]:
        """Where it was first as good as ever but for noise, how good that is, and the noise."""
        first, second, third = values[:-2], values[1:-1], values[2:]
        lower, higher = np.minimum(first, second), np.maximum(first, second)
        best = float(np.maximum(lower, np.minimum(higher, third)).min())
        least = self.delta
        if "delta" not in self.given:
            won = max(float(values[0]) - best, 0.0)
            least = max(self.delta * won, _SIGMAS * bent_spread_of(values))
        return int(np.flatnonzero(values <= best + least)[0]), best, least

    def _least(self, kind: str) -> int:
        name = "patience_train" if kind == _TRAINING else "patience_validation"
        return int(getattr(self, name)) if name in self.given else _LEAST[kind]

    def _times(self, kind: str) -> int:
        name = "patience_train" if kind == _TRAINING else "patience_validation"
        return 0 if name in self.given else _TIMES

    def _found(self, kind: str, step: int, value: float, state: State) -> Finding:
        return self.finding(
            f"The {kind} loss has not got better since step {state['best_step']}: it was "
            f"{state['best']:.4g} then and is {value:.4g} at step {step}.",
            step=(int(state["best_step"]), step),
            subject=kind,
            evidence={
                "best": state["best"],
                "best_step": state["best_step"],
                "now": value,
                "without_progress": state["stale"],
            },
        )


def _take_training(curve: Curve, state: State) -> bool:
    """Remembers a window of training; whether there was anything to remember."""
    finite = curve.values[np.isfinite(curve.values)]
    signs = {*state.get("signs", []), *np.sign(finite).tolist()} - {0.0}
    state["signs"] = sorted(signs)
    state["steps"] = state.get("steps", 0) + len(curve)
    if len(finite):
        _take(int(curve.steps[-1]), float(finite.mean()), state.of(_TRAINING))
    return bool(len(finite))


def _take(step: int, value: float, state: State) -> None:
    state["seen"] = state.get("seen", 0) + 1
    values, steps = [*state.get("values", []), value], [*state.get("steps", []), step]
    if len(values) > _MOST:
        values, steps = halved(np.array(values)).tolist(), steps[1::2]
        state["width"] = 2 * state.get("width", 1)
    state["values"], state["steps"] = values, steps
