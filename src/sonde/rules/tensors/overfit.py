"""Overfit: the training loss falls while the validation loss rises."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.trends import noise_of
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.accuracy import is_same_batch_again
from sonde.rules.measures.held_out_evaluations import EvaluationResult, evaluations

_SUBJECT = "validation"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Overfit.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    evaluations_in_a_row: int = 3
    min_evaluations: int = 5
    smoothed_evaluations: int = 3  # their median is the current level
    sigmas: float = 4.0  # times the noise
    progress_share: float = 0.03  # a smaller rise does not matter
    best_share_factor: float = 0.5  # of `ratio_threshold`
    recent_evaluations: int = 12  # to estimate noise without the steep initial fall
    resolved_share: float = 0.5  # of the minimum rise; below it, the episode is resolved


LIMITS = Calibration()


class Overfit(Rule):
    """The model improves on the training data and gets worse on the validation data.

    Why it matters: From the best validation loss on, training makes the model worse.
    How it decides:
    - The median of the last 3 validation losses has risen from its best by 5% of the best, 3% of
      all progress and 4 times the noise, in 3 evaluations in a row.
    - At the same time, the training loss is below its value at that best and at least 10%
      (`ratio_threshold`) below the validation loss.
    - `tensor_regex` selects the loss by its name, or the evaluation by its name.
      Needs 5 evaluations of data that is not trained on. Not applied to alternating losses, and if
      training repeats the same few batches.
    - Classic: a validation loss is `ratio_threshold` above the mean training loss since the
      previous evaluation, `patience` times in a row.
    What to do: Stop at the best evaluation and use its checkpoint. Or use more data or
    augmentation, weight decay, dropout, or a smaller model.
    """

    tensor_regex: Regex | None = None
    start_step: int = 0
    patience: Count = 1
    ratio_threshold: Positive = 0.1

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Losses(), Steps("eval"))
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains = ("Overtraining",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare every evaluation with the training since the previous one."""
        window.steps("eval")
        results, remaining_losses = evaluations(window, state, self.tensor_regex)
        if self.tensor_regex is None and len(window.losses()) > 1:
            state["unfit"] = "with alternating losses, none of them is the training loss"
        if is_same_batch_again(window, state.of("batches")):
            state["unfit"] = "training repeats the same few batches"
        for result in results:
            self._add(result.trained, state)
            if result.step < self.start_step:
                continue
            trained = state["sum"] / state["count"] if state.get("count") else None
            state["sum"], state["count"] = 0.0, 0
            if trained is None:
                trained = state.get("trained")
            if trained is not None:
                state["trained"] = trained
                yield from self._evaluate(result, trained, state)
        self._add(remaining_losses, state)

    def unfit(self, state: State) -> str:
        """Return a reason for several losses, or for a test that trains the same few batches."""
        return "" if self.is_classic else str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many evaluations are missing."""
        count, minimum = (
            int(state.get("evaluations", 0)),
            1 if self.is_classic else LIMITS.min_evaluations,
        )
        if count >= minimum:
            return ""
        return Shortfall(count, minimum, DataUnit.EVALUATIONS)

    def _add(self, losses: tuple[float, ...] | list[float], state: State) -> None:
        if losses and "begin" not in state:
            state["begin"] = losses[0]
        state["sum"] = state.get("sum", 0.0) + sum(losses)
        state["count"] = state.get("count", 0) + len(losses)

    def _evaluate(
        self, evaluation: EvaluationResult, trained: float, state: State
    ) -> Iterator[Finding]:
        state["evaluations"] = state.get("evaluations", 0) + 1
        gap = (evaluation.loss - trained) / abs(trained) if trained else 0.0
        is_over = gap > self.ratio_threshold
        if not self.is_classic:
            is_over = self._has_turned(evaluation, trained, state) and is_over
        state["row"] = state.get("row", 0) + 1 if is_over else 0
        if state["row"] == 1:
            state["since"] = evaluation.step
        needed = (
            self.patience
            if self.is_classic or "patience" in self.explicit_parameters
            else LIMITS.evaluations_in_a_row
        )
        if not is_over and state.get("rise", 0.0) < LIMITS.resolved_share:
            yield self.recovered(_SUBJECT)
        if state["row"] >= needed and (self.is_classic or not self.unfit(state)):
            yield self._finding(evaluation, trained, gap, state)

    def _has_turned(self, evaluation: EvaluationResult, trained: float, state: State) -> bool:
        """Whether the validation loss has risen beyond noise while the training loss has fallen."""
        recent = [*state.get("recent", []), evaluation.loss][-LIMITS.recent_evaluations :]
        state["recent"] = recent
        level = float(np.median(recent[-LIMITS.smoothed_evaluations :]))
        if state["evaluations"] >= LIMITS.smoothed_evaluations and level < state.get(
            "best", np.inf
        ):
            state["best"], state["best_step"], state["best_trained"] = (
                level,
                evaluation.step,
                trained,
            )
        if state["evaluations"] < LIMITS.min_evaluations or "best" not in state:
            return False
        best = float(state["best"])
        progress = max(float(state.get("begin", recent[0])), recent[0]) - best
        noise = noise_of(np.array(recent))
        of_best = LIMITS.best_share_factor * self.ratio_threshold * abs(best)
        minimum = max(of_best, LIMITS.progress_share * progress, LIMITS.sigmas * noise)
        state["rise"] = (level - best) / minimum if minimum else 0.0
        return level - best > minimum and trained < float(state["best_trained"])

    def _finding(
        self, evaluation: EvaluationResult, trained: float, gap: float, state: State
    ) -> Finding:
        best = state.get("best")
        if best is None:
            text = f"{format_percent(100 * gap)} above the training loss of {trained:.4g}"
        else:
            text = (
                f"up from {best:.4g} at step {state['best_step']}, while the training loss went "
                f"from {state['best_trained']:.4g} to {trained:.4g}"
            )
        return self.finding(
            f"The validation loss is {evaluation.loss:.4g} at step {evaluation.step}, {text}.",
            step=(int(state.get("best_step", state["since"])), evaluation.step),
            subject=_SUBJECT,
            evidence={
                "validation": evaluation.loss,
                "training": trained,
                "gap_percent": 100 * gap,
                "best": best,
                "best_step": state.get("best_step"),
                "evaluations": state["evaluations"],
            },
        )
