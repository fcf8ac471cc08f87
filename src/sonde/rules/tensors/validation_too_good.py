"""ValidationTooGood: an evaluation that cannot be trusted, because it is too good."""

import math
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg
from sonde.rules.tensors._evaluations import Hits, hits, mean_loss

_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_MOST_MARKS = 1024  # the lowest ones: a sample of all
_LATEST = 2  # batches: one that is looked at again right after its step is no validation
_BATCHES = 4  # different ones: who trains with fewer overfits them on purpose
_ALL = 0.95  # of the batches of all evaluations
_EVALUATIONS = 3
_FAR_BETTER = 0.25  # of the errors, and of the loss: dropout and augmentation cost less than that
_SAMPLES = 100
_LEAST_ERROR = 0.1  # of training: where nearly all is right there is nothing to compare


class ValidationTooGood(Rule):
    """Validation is far better than training from the first, or its batches were trained on.

    Why it matters: an evaluation on what was trained on, or with the answer among the inputs, says
    nothing about new data; the wrong model is chosen.
    How it decides: by the marks that the hook takes of every batch: at least 4 different batches of
    evaluations, and nearly all were trained on before. A script that evaluates the training set
    beside a validation set has others, too, and is left alone. Or by hits: in each of the first 3
    evaluations or more, errors and loss are below a quarter of those in training; dropout,
    augmentation and an epoch's progress cost less.
    What to do: split by sample (by person, by time) before anything else; check that the loader of
    the validation set has the validation set; look for the target among the inputs.
    """

    needs = (Observations("batch-hash"), Observations("class-hits"))
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares evaluations with the training before."""
        begin_leg(window, state)
        yield from self._by_marks(window, state)
        evaluated, trained = hits(window, _EVAL), hits(window, _TRAIN)
        if trained is not None and trained.samples:
            state["errors"] = 1 - trained.accuracy
        loss = mean_loss(window, _TRAIN)
        state["loss"] = state.get("loss") if loss is None else loss
        if evaluated is not None and evaluated.samples >= _SAMPLES and "errors" in state:
            yield from self._by_hits(window, evaluated, state)

    def lacks(self, state: State) -> str:
        """That there has to be an evaluation."""
        is_enough = state.get("evaluations", 0) or state.get("evaluated")
        return "" if is_enough else "it has seen no evaluation yet; it needs one"

    def _by_marks(self, window: Window, state: State) -> Iterator[Finding]:
        has_evaluated = _follow(window, state)
        if not has_evaluated:
            return
        trained, known = state["trained"], set(state["known"])
        # of very many batches only those with the lowest marks are remembered, of both kinds
        limit = trained[-1] if len(trained) == _MOST_MARKS else math.inf
        both = [one for one in state["evaluated"] if one <= limit]
        seen = sum(one in known for one in both)
        if len(both) >= _BATCHES and len(trained) >= _BATCHES and seen >= _ALL * len(both):
            yield self.finding(
                f"{seen} of {len(both)} different batches of the evaluation were trained on "
                "before.",
                subject="batches",
                evidence={"known": seen, "batches": len(both), "trained": len(trained)},
            )
        else:
            yield self.recovered("batches")

    def _by_hits(self, window: Window, evaluated: Hits, state: State) -> Iterator[Finding]:
        state["evaluations"] = state.get("evaluations", 0) + 1
        errors, loss = 1 - evaluated.accuracy, mean_loss(window, _EVAL)
        is_loss_better = loss is None or (
            state["loss"] is not None and 0 <= loss < _FAR_BETTER * state["loss"]
        )
        is_better = errors < _FAR_BETTER * state["errors"] and is_loss_better
        if not is_better and state["errors"] >= _LEAST_ERROR:
            state["was_worse"] = True
        if state.get("was_worse"):
            yield self.recovered("hits")
        elif is_better and state["evaluations"] >= _EVALUATIONS and state["errors"] >= _LEAST_ERROR:
            yield self.finding(
                f"{100 * errors:.2g} % of the validation samples are wrong, and "
                f"{100 * state['errors']:.2g} % of those in training, from the first of "
                f"{state['evaluations']} evaluations on.",
                subject="hits",
                evidence={
                    "validation_errors": errors,
                    "training_errors": state["errors"],
                    "validation_loss": loss,
                    "training_loss": state["loss"],
                    "evaluations": state["evaluations"],
                },
            )


def _follow(window: Window, state: State) -> bool:
    """Takes all batches in order of time; whether there were any of an evaluation."""
    trained, known = set(state.get("trained", [])), set(state.get("known", []))
    evaluated, last = set(state.get("evaluated", [])), state.get("last", [])
    has_evaluated = False
    for one in window.observations("batch-hash"):
        mark = int(one.value)
        if one.mode == _TRAIN:
            trained.add(mark)
            last = [*last, mark][-_LATEST:]
        elif one.mode == _EVAL and mark not in last:
            has_evaluated = True
            evaluated.add(mark)
            if mark in trained:
                known.add(mark)
    state["last"] = last
    for name, found in (("trained", trained), ("known", known), ("evaluated", evaluated)):
        state[name] = sorted(found)[:_MOST_MARKS]
    return has_evaluated
