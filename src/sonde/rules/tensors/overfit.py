"""Overfit: the training loss falls on, and the validation loss rises."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.trends import spread_of
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._evaluations import is_same_batch_again
from sonde.rules.tensors._passes import Evaluated, evaluations

_PATIENCE = 3  # evaluations in a row
_LEAST = 5  # evaluations
_SMOOTHED = 3  # evaluations whose median counts as one
_SIGMAS = 4.0
_OF_PROGRESS = 0.03  # a rise by less of what was won is nobody's trouble
_OF_BEST = 0.5  # times ratio_threshold
_KEPT = 12  # evaluations that tell how noisy they are; the fall of the first ones is no noise
_OVER = 0.5  # of the rise that counts: less is a recovery, what lies between is noise
_SUBJECT = "validation"


class Overfit(Rule):
    """The model gets better on the training data and worse on the validation data.

    Why it matters: from the best validation loss on, training makes the model worse.
    How it decides: by the evaluations of data that is not trained on. Calibrated fires where the
    median of the last 3 results has risen from its best by 5% of the best, 3% of all progress and
    4 times the noise, for 3 evaluations in a row, while the training loss is below its value at
    that best and 10% below the evaluation. Classic fires where a result is 10%
    (`ratio_threshold`) above the mean training loss since the evaluation before, `patience` times
    in a row.
    What to do: stop at the best evaluation and take its checkpoint; more data or augmentation,
    weight decay, dropout, a smaller model.
    """

    start_step: int = 0
    patience: Count = 1
    ratio_threshold: Positive = 0.1

    needs = (Losses(), Steps("eval"))
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains = ("Overtraining",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at every evaluation."""
        window.steps("eval")
        found, rest = evaluations(window, state)
        if len(window.losses()) > 1:
            state["unfit"] = "several losses in turn: none of them is the training loss"
        if is_same_batch_again(window, state.of("batches")):
            state["unfit"] = (
                "a few batches over and over: that they are learned by heart is the aim"
            )
        for one in found:
            self._add(one.trained, state)
            if one.step < self.start_step:
                continue
            trained = state["sum"] / state["count"] if state.get("count") else None
            state["sum"], state["count"] = 0.0, 0
            if trained is None:
                trained = state.get("trained")
            if trained is not None:
                state["trained"] = trained
                yield from self._judged(one, trained, state)
        self._add(rest, state)

    def unfit(self, state: State) -> str:
        """Several losses, or a test of whether a model can learn at all."""
        return "" if self.is_classic else str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """More evaluations."""
        seen, least = int(state.get("evaluations", 0)), 1 if self.is_classic else _LEAST
        if seen >= least:
            return ""
        return Shortfall(seen, least, DataUnit.EVALUATIONS)

    def _add(self, losses: tuple[float, ...] | list[float], state: State) -> None:
        if losses and "begin" not in state:
            state["begin"] = losses[0]
        state["sum"] = state.get("sum", 0.0) + sum(losses)
        state["count"] = state.get("count", 0) + len(losses)

    def _judged(self, one: Evaluated, trained: float, state: State) -> Iterator[Finding]:
        state["evaluations"] = state.get("evaluations", 0) + 1
        gap = (one.loss - trained) / abs(trained) if trained else 0.0
        is_over = gap > self.ratio_threshold
        if not self.is_classic:
            is_over = self._has_turned(one, trained, state) and is_over
        state["row"] = state.get("row", 0) + 1 if is_over else 0
        if state["row"] == 1:
            state["since"] = one.step
        needed = self.patience if self.is_classic or "patience" in self.given else _PATIENCE
        if not is_over and state.get("rise", 0.0) < _OVER:
            yield self.recovered(_SUBJECT)
        if state["row"] >= needed and (self.is_classic or not self.unfit(state)):
            yield self._found(one, trained, gap, state)

    def _has_turned(self, one: Evaluated, trained: float, state: State) -> bool:
        """Whether the validation loss has risen for good, and the training loss has not."""
        recent = [*state.get("recent", []), one.loss][-_KEPT:]
        state["recent"] = recent
        level = float(np.median(recent[-_SMOOTHED:]))
        if state["evaluations"] >= _SMOOTHED and level < state.get("best", np.inf):
            state["best"], state["best_step"], state["best_trained"] = level, one.step, trained
        if state["evaluations"] < _LEAST or "best" not in state:
            return False
        best = float(state["best"])
        won = max(float(state.get("begin", recent[0])), recent[0]) - best
        noise = spread_of(np.array(recent))
        of_best = _OF_BEST * self.ratio_threshold * abs(best)
        least = max(of_best, _OF_PROGRESS * won, _SIGMAS * noise)
        state["rise"] = (level - best) / least if least else 0.0
        return level - best > least and trained < float(state["best_trained"])

    def _found(self, one: Evaluated, trained: float, gap: float, state: State) -> Finding:
        best = state.get("best")
        if best is None:
            said = f"{100 * gap:.0f} % above the training loss of {trained:.4g}"
        else:
            said = (
                f"up from {best:.4g} at step {state['best_step']}, while the training loss went "
                f"from {state['best_trained']:.4g} to {trained:.4g}"
            )
        return self.finding(
            f"The validation loss is {one.loss:.4g} at step {one.step}, {said}.",
            step=(int(state.get("best_step", state["since"])), one.step),
            subject=_SUBJECT,
            evidence={
                "validation": one.loss,
                "training": trained,
                "gap_percent": 100 * gap,
                "best": best,
                "best_step": state.get("best_step"),
                "evaluations": state["evaluations"],
            },
        )
