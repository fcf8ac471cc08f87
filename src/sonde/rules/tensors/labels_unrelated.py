"""LabelsUnrelated: what is learned of the training set is of no use beyond it."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg
from sonde.rules.tensors._evaluations import (
    Hits,
    hits,
    hits_of,
    is_same_batch_again,
    mean_loss,
)
from sonde.rules.tensors._passes import held_out, on_training_data

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_BEGINNING_STEPS = 20  # at most, at the first loss: later nobody knows what chance is
_FIRST_LOSSES = 5
_LEARNED = 0.6  # of the first loss: the training set is being learned
_CHANCE = 0.95  # of the first loss: an evaluation that is never below it stays at chance
_UNTRAINED = 0.85  # of the first loss at the first evaluation: that one is chance, too
_OWN_CHANCE = 0.9  # of its loss: a validation set may be easier to guess than the training set
_OTHER_SCALE = 3.0  # times the first loss at the first evaluation: it is computed otherwise
_EVALUATIONS = {"hits": 2, "loss": 3}
_MEMORIZED = 0.4  # of accuracy above chance
_SAMPLES = 100


class LabelsUnrelated(Rule):
    """The model memorizes the training set while validation stays at chance.

    Why it matters: labels do not belong to their inputs (shuffled apart, off by one, a wrong join),
    or the validation set is of another kind. Nothing that is learned will be of use.
    How it decides: by evaluations of data that is not trained on, 2 or more. Accuracy in training
    is 40 points above chance (always the most frequent class), and every evaluation is within three
    standard errors of chance. Where predictions are not seen: the training loss is below 60% of its
    first value, and 3 or more evaluations never come below 95% of it (90% of the first evaluation,
    where nothing was learned by then). Not applied where the same few batches are repeated.
    What to do: look at ten samples with their labels; check that inputs and labels are shuffled
    together and that training and validation are prepared the same way.
    """

    needs = (Losses(), Observations("class-hits"))
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("Overfit", "Overtraining")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares every evaluation with the training around it."""
        begin_leg(window, state)
        state["is_test"] = state.get("is_test", False) or is_same_batch_again(window, state)
        self._take_training(window, state)
        if state["is_test"]:
            return
        for evaluated, loss in self._results(window, state):
            if evaluated is not None and evaluated.samples >= _SAMPLES and "accuracy" in state:
                yield from self._by_hits(evaluated, state)
            else:
                yield from self._by_loss(loss, state)

    def _results(self, window: Window, state: State) -> Iterator[tuple[Hits | None, float | None]]:
        """Hits and loss of every evaluation of data that is not trained on."""
        results = held_out(window, state)
        if results is None:
            yield hits(window, _EVAL), mean_loss(window, _EVAL)
        for one in results or ():
            yield hits_of(one.hits), one.loss

    def lacks(self, state: State) -> str | Shortfall:
        """How many evaluations are missing."""
        seen, needed = state.get("evaluations", 0), min(_EVALUATIONS.values())
        return "" if seen >= needed else Shortfall(seen, needed, DataUnit.EVALUATIONS)

    def unfit(self, state: State) -> str:
        """A few batches over and over."""
        return "the same few batches are trained again and again" if state.get("is_test") else ""

    def _take_training(self, window: Window, state: State) -> None:
        curves = window.losses(_TRAIN)
        if "first" not in state and len(curves) == 1 and curves[0].steps[0] < _BEGINNING_STEPS:
            values = curves[0].values[:_FIRST_LOSSES]
            state["first"] = float(sorted(values)[len(values) // 2])
        loss = mean_loss(window, _TRAIN)
        if loss is not None:
            state["loss"] = loss
        trained = hits(window, _TRAIN)
        if trained is not None and trained.samples:
            state["accuracy"] = trained.accuracy
        for one in on_training_data(window):  # the script measures it itself
            trained = hits_of(one.hits)
            state["loss"] = state.get("loss") if one.loss is None else one.loss
            if trained is not None and trained.samples >= _SAMPLES:
                state["accuracy"] = trained.accuracy

    def _by_hits(self, evaluated: Hits, state: State) -> Iterator[Finding]:
        state["evaluations"] = state.get("evaluations", 0) + 1
        if evaluated.accuracy > evaluated.beyond_chance:
            state["was_better"] = True
        is_memorized = state["accuracy"] >= evaluated.chance + _MEMORIZED
        if state.get("was_better") or not is_memorized:
            yield self.recovered("validation")
            return
        state["stood"] = state.get("stood", 0) + 1
        if state["stood"] >= _EVALUATIONS["hits"]:
            yield self.finding(
                f"Accuracy in training is {100 * state['accuracy']:.0f} %, in validation "
                f"{100 * evaluated.accuracy:.0f} % ({evaluated.samples:.0f} samples); always "
                f"saying the most frequent class gives {100 * evaluated.chance:.0f} %.",
                subject="validation",
                evidence={
                    "training_accuracy": state["accuracy"],
                    "validation_accuracy": evaluated.accuracy,
                    "chance": evaluated.chance,
                    "evaluations": state["evaluations"],
                },
            )

    def _by_loss(self, loss: float | None, state: State) -> Iterator[Finding]:
        first = state.get("first")
        if loss is None or first is None or first <= 0 or state.get("loss") is None:
            return
        state["evaluations"] = state.get("evaluations", 0) + 1
        is_first = state["evaluations"] == 1
        if is_first:
            is_untrained = state["loss"] >= _UNTRAINED * first
            state["chance"] = _OWN_CHANCE * loss if is_untrained and loss < first else None
        chance = state.get("chance")
        limit = _CHANCE * first if chance is None else chance
        is_other = is_first and loss > _OTHER_SCALE * first
        state["was_better"] = state.get("was_better", False) or is_other or loss < limit
        is_at_chance = loss >= (first if chance is None else limit)
        if state["was_better"] or state["loss"] > _LEARNED * first or not is_at_chance:
            yield self.recovered("validation")
        elif state["evaluations"] >= _EVALUATIONS["loss"]:
            yield self.finding(
                f"The training loss fell from {first:.3g} to {state['loss']:.3g}; the validation "
                f"loss was never better than at the beginning and is {loss:.3g}.",
                subject="validation",
                evidence={
                    "first_loss": first,
                    "training_loss": state["loss"],
                    "validation_loss": loss,
                    "evaluations": state["evaluations"],
                },
            )
