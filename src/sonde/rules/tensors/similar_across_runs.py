"""SimilarAcrossRuns: another job did exactly the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_selection import chosen_tensors, first_and_count, needs_of

_BY_DEFAULT = ("weights", "gradients")
_COLUMNS = ("count", "zeros", "minimum", "maximum", "sum", "sum_of_squares")
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SimilarAcrossRuns.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    tolerance: float = 1e-6  # relative: another machine may sum in another order
    steps_in_a_row: int = 3  # with the same seed, a single step is equal
    span_steps: int = 2


LIMITS = Calibration()


class SimilarAcrossRuns(Rule):
    """The tensors of this job are equal to those of another job.

    Why it matters: A job that repeats another one teaches nothing new: a setting that was meant to
    differ does not, or all members of an ensemble are the same.
    How it decides:
    - Tensors of the same name and step have equal counts, zeros, extremes and sums (within 1e-6),
      at 3 recorded steps in a row. Classic: at any step.
    - Not applied unless `other_trial` names the other job, by its name in the same store or by its
      URI.
    What to do: Check that the seed, the data and the setting under test really differ.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    other_trial: str | None = None

    section = Section.MODEL
    calibration = LIMITS
    needs = tuple(Statistics(item) for item in _BY_DEFAULT)
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
        theirs = {item.name: item for item in self._chosen(window.other_job(self.other_trial))}
        streaks = Streaks(state)
        ours = [item for item in self._chosen(window) if item.name in theirs]
        maximum = 0  # steps that both have of a tensor
        for tensor in ours:
            compared = list(_compared(tensor, theirs[tensor.name]))
            maximum = max(maximum, len(compared))
            for step, is_same in compared:
                streaks.note(tensor.name, step, holds=is_same)
                if is_same and self.is_classic:
                    yield self._finding([tensor.name], (step, step), tensor.name)
        state["compared"] = state.get("compared", 0) + maximum
        same = [
            tensor.name
            for tensor in ours
            if tensor.name in streaks.lasting(LIMITS.steps_in_a_row, LIMITS.span_steps)
        ]
        if same and not self.is_classic:
            spans = [streaks.steps(name) for name in same]
            steps = (min(item for item, _ in spans), max(item for _, item in spans))
            yield self._finding(same, steps, self.other_trial)

    def unfit(self, state: State) -> str:
        """The other job is not set."""
        del state
        return "" if self.other_trial else "set other_trial to the job to compare with"

    def lacks(self, state: State) -> str | Shortfall:
        """Steps that both have recorded."""
        has, needed = state.get("compared", 0), 1 if self.is_classic else LIMITS.steps_in_a_row
        if has >= needed:
            return ""
        return Shortfall(has, needed, DataUnit.COMMON_STEPS)

    def _chosen(self, window: Window) -> list[WindowTensor]:
        is_open = self.collection_names is None and self.tensor_regex is None
        collections = _BY_DEFAULT if is_open else self.collection_names or ()
        return chosen_tensors(window, collections, self.tensor_regex)

    def _finding(self, names: list[str], steps: tuple[int, int], subject: str) -> Finding:
        return self.finding(
            f"{first_and_count(names)} has the same values as in {self.other_trial} "
            f"from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=names[0],
            subject=subject,
            evidence={"tensors": names[:_MAX_LISTED], "count": len(names)},
        )


def _compared(ours: WindowTensor, theirs: WindowTensor) -> Iterator[tuple[int, bool]]:
    """The steps that both have, and whether the tensor is the same there."""
    steps, here, there = np.intersect1d(ours.steps, theirs.steps, return_indices=True)
    pairs = [(ours.column(name)[here], theirs.column(name)[there]) for name in _COLUMNS]
    is_same = np.ones(len(steps), dtype=np.bool_)
    for mine, second in pairs:
        is_same &= np.isclose(mine, second, rtol=LIMITS.tolerance, atol=0.0, equal_nan=True)
    yield from zip(steps.tolist(), is_same.tolist(), strict=True)
