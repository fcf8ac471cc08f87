"""SimilarAcrossRuns: another job did exactly the same."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Regex
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import and_more, chosen_tensors, needs_of
from sonde.rules.tensors._streaks import Streaks

_BY_DEFAULT = ("weights", "gradients")
_COLUMNS = ("count", "zeros", "minimum", "maximum", "sum", "sum_of_squares")
_SAME = 1e-6  # relative: what another machine may add up in another order
_IN_A_ROW = 3  # recorded steps; one is equal wherever the seed is
_SPAN = 2  # steps
_NAMED = 8


class SimilarAcrossRuns(Rule):
    """The tensors of this job equal those of another one.

    Why it matters: a job that repeats another one teaches nothing new: a setting that was meant to
    differ does not, or all members of an ensemble are the same.
    How it decides: tensors of the same name at the same step are the same where count, noughts,
    extremes and sums are. Classic fires at every such step. Calibrated wants three recorded steps
    in a row: the first one is equal wherever the seed is. It needs to be told the other job:
    other_trial, by its name in the same store or by its address.
    What to do: check that the seed, the data and the setting under test really differ.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    other_trial: str | None = None

    needs = tuple(Statistics(one) for one in _BY_DEFAULT)
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """What was chosen."""
        if self.collection_names is None and self.tensor_regex is None:
            return self.needs
        return needs_of(self.collection_names, self.tensor_regex)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the same steps of both."""
        if self.other_trial is None:
            return
        theirs = {one.name: one for one in self._chosen(window.beside(self.other_trial))}
        streaks = Streaks(state)
        ours = [one for one in self._chosen(window) if one.name in theirs]
        most = 0  # steps that both have of a tensor
        for tensor in ours:
            compared = list(_compared(tensor, theirs[tensor.name]))
            most = max(most, len(compared))
            for step, is_same in compared:
                streaks.note(tensor.name, step, holds=is_same)
                if is_same and self.is_classic:
                    yield self._found([tensor.name], (step, step), tensor.name)
        state["compared"] = state.get("compared", 0) + most
        same = [one.name for one in ours if one.name in streaks.lasting(_IN_A_ROW, _SPAN)]
        if same and not self.is_classic:
            spans = [streaks.steps(name) for name in same]
            steps = (min(one for one, _ in spans), max(one for _, one in spans))
            yield self._found(same, steps, self.other_trial)

    def unfit(self, state: State) -> str:
        """Nobody has said which job."""
        del state
        return "" if self.other_trial else "set other_trial: it compares with nothing"

    def lacks(self, state: State) -> str | Shortfall:
        """Steps that both have recorded."""
        has, needed = state.get("compared", 0), 1 if self.is_classic else _IN_A_ROW
        if has >= needed:
            return ""
        return Shortfall(has, needed, DataUnit.COMMON_STEPS)

    def _chosen(self, window: Window) -> list[WindowTensor]:
        is_open = self.collection_names is None and self.tensor_regex is None
        collections = _BY_DEFAULT if is_open else self.collection_names or ()
        return chosen_tensors(window, collections, self.tensor_regex)

    def _found(self, names: list[str], steps: tuple[int, int], subject: str) -> Finding:
        return self.finding(
            f"{and_more(names)} had the same values in {self.other_trial} "
            f"from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=names[0],
            subject=subject,
            evidence={"tensors": names[:_NAMED], "count": len(names)},
        )


def _compared(ours: WindowTensor, theirs: WindowTensor) -> Iterator[tuple[int, bool]]:
    """The steps that both have, and whether the tensor is the same there."""
    steps, here, there = np.intersect1d(ours.steps, theirs.steps, return_indices=True)
    pairs = [(ours.column(name)[here], theirs.column(name)[there]) for name in _COLUMNS]
    is_same = np.ones(len(steps), dtype=np.bool_)
    for mine, other in pairs:
        is_same &= np.isclose(mine, other, rtol=_SAME, atol=0.0, equal_nan=True)
    yield from zip(steps.tolist(), is_same.tolist(), strict=True)
