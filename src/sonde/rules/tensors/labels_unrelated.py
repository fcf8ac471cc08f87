"""LabelsUnrelated: training data is memorized while validation stays at chance level."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.formats import format_percent, pluralize
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.accuracy import (
    Hits,
    hits,
    hits_of,
    is_same_batch_again,
    mean_loss,
)
from sonde.rules.measures.held_out_evaluations import held_out_series, training_data_evaluations
from sonde.rules.measures.training_kind import begin_attempt

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value

# of an evaluation: predictions, loss, and the mean training loss since the previous evaluation
_Result = tuple[Hits | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LabelsUnrelated.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    initial_steps: int = 20  # a first loss recorded later does not show chance level
    initial_losses: int = 5  # their median is the initial loss
    learned_share: float = 0.6  # of the initial loss
    chance_share: float = 0.95  # of the initial loss
    # of the initial loss; above it, the first evaluation shows the chance level
    untrained_share: float = 0.85
    # of that evaluation; validation data may be easier to guess than training data
    own_chance_share: float = 0.9
    # times the initial loss; above it at the first evaluation, the losses are not comparable
    other_scale_factor: float = 3.0
    memorized_accuracy: float = 0.4  # in training, above chance
    min_samples: int = 100  # per evaluation
    accuracy_evaluations: int = 2  # with an accuracy at chance level
    loss_evaluations: int = 3  # with a loss at chance level


LIMITS = Calibration()


class LabelsUnrelated(Rule):
    """The model memorizes the training set while validation stays at chance level.

    Why it matters: Labels do not belong to their inputs (shuffled separately, off by one, a wrong
    join), or the validation set is of another kind. The trained model is useless.
    How it decides:
    - Training accuracy is 40 points above chance (always predicting the most frequent class), and 2
      or more evaluations of at least 100 samples are all within 3 standard errors of chance.
    - Without predictions: the training loss is below 60% of its initial value, and 3 or more
      evaluation losses never fall below 95% of it.
    - Only evaluations of data that is not trained on count. If the model was still untrained at the
      first evaluation, the limit is 90% of that result.
    - Not applied if training repeats the same few batches.
    What to do: Look at ten samples with their labels. Check that inputs and labels are shuffled
    together, and that training and validation data are prepared in the same way.
    """

    section = Section.DATA
    calibration = LIMITS
    needs = (Losses(), Observations("class-hits"))
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("Overfit", "Overtraining")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare every evaluation with the latest training results."""
        begin_attempt(window, state)
        state["is_test"] = state.get("is_test", False) or is_same_batch_again(window, state)
        self._add_training(window, state)
        if state["is_test"]:
            return
        for evaluated, loss, trained in self._results(window, state):
            if trained is not None and not state.get("is_training_evaluated"):
                state["loss"] = trained
            if (
                evaluated is not None
                and evaluated.samples >= LIMITS.min_samples
                and "accuracy" in state
            ):
                yield from self._check_accuracy(evaluated, state)
            else:
                yield from self._check_loss(loss, state)

    def _results(self, window: Window, state: State) -> Iterator[_Result]:
        """Yield the results of each evaluation of data that is not trained on."""
        results = held_out_series(window, state)
        if results is None:
            yield hits(window, _EVAL), mean_loss(window, _EVAL), None
            return
        curve = next(iter(window.losses(_TRAIN)), None)
        begin = 0
        for evaluation in results:
            trained = None
            if curve is not None:
                end = int(np.searchsorted(curve.steps, evaluation.step))
                before = curve.values[begin:end][np.isfinite(curve.values[begin:end])]
                trained, begin = (float(before.mean()) if len(before) else None), max(begin, end)
            yield hits_of(evaluation.hits), evaluation.loss, trained

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many evaluations are missing."""
        count, needed = state.get("evaluations", 0), LIMITS.accuracy_evaluations
        return "" if count >= needed else Shortfall(count, needed, DataUnit.EVALUATIONS)

    def unfit(self, state: State) -> str:
        """Return a reason if the same few batches are trained repeatedly."""
        return "training repeats the same few batches" if state.get("is_test") else ""

    def _add_training(self, window: Window, state: State) -> None:
        curves = window.losses(_TRAIN)
        if "first" not in state and len(curves) == 1 and curves[0].steps[0] < LIMITS.initial_steps:
            values = curves[0].values[: LIMITS.initial_losses]
            state["first"] = float(sorted(values)[len(values) // 2])
        loss = mean_loss(window, _TRAIN)
        if loss is not None:
            state["loss"] = loss
        trained = hits(window, _TRAIN)
        if trained is not None and trained.samples:
            state["accuracy"] = trained.accuracy
        for evaluation in training_data_evaluations(window):  # evaluated by the script
            trained = hits_of(evaluation.hits)
            if evaluation.loss is not None:
                state["loss"], state["is_training_evaluated"] = evaluation.loss, True
            if trained is not None and trained.samples >= LIMITS.min_samples:
                state["accuracy"] = trained.accuracy

    def _check_accuracy(self, evaluated: Hits, state: State) -> Iterator[Finding]:
        state["evaluations"] = state.get("evaluations", 0) + 1
        if evaluated.accuracy > evaluated.chance_limit:
            state["was_better"] = True
        is_memorized = state["accuracy"] >= evaluated.chance + LIMITS.memorized_accuracy
        if state.get("was_better") or not is_memorized:
            yield self.recovered("validation")
            return
        state["stood"] = state.get("stood", 0) + 1
        if state["stood"] >= LIMITS.accuracy_evaluations:
            yield self.finding(
                f"Accuracy is {format_percent(100 * state['accuracy'])} in training and "
                f"{format_percent(100 * evaluated.accuracy)} in validation "
                f"({pluralize(round(evaluated.samples), 'sample')}). Always predicting the most "
                f"frequent class gives {format_percent(100 * evaluated.chance)}.",
                subject="validation",
                evidence={
                    "training_accuracy": state["accuracy"],
                    "validation_accuracy": evaluated.accuracy,
                    "chance": evaluated.chance,
                    "evaluations": state["evaluations"],
                },
            )

    def _check_loss(self, loss: float | None, state: State) -> Iterator[Finding]:
        first = state.get("first")
        if loss is None or first is None or first <= 0 or state.get("loss") is None:
            return
        state["evaluations"] = state.get("evaluations", 0) + 1
        is_first = state["evaluations"] == 1
        if is_first:
            is_untrained = state["loss"] >= LIMITS.untrained_share * first
            state["chance"] = (
                LIMITS.own_chance_share * loss if is_untrained and loss < first else None
            )
        chance = state.get("chance")
        limit = LIMITS.chance_share * first if chance is None else chance
        has_other_scale = is_first and loss > LIMITS.other_scale_factor * first
        state["was_better"] = state.get("was_better", False) or has_other_scale or loss < limit
        is_at_chance = loss >= (first if chance is None else limit)
        if state["was_better"] or state["loss"] > LIMITS.learned_share * first or not is_at_chance:
            yield self.recovered("validation")
        elif state["evaluations"] >= LIMITS.loss_evaluations:
            yield self.finding(
                f"The training loss fell from {first:.3g} to {state['loss']:.3g}; the validation "
                f"loss never improved on its initial value and is {loss:.3g}.",
                subject="validation",
                evidence={
                    "first_loss": first,
                    "training_loss": state["loss"],
                    "validation_loss": loss,
                    "evaluations": state["evaluations"],
                },
            )
