"""SimilarAcrossRuns: another job has the same tensors."""

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

_DEFAULT_COLLECTIONS = ("weights", "gradients")
_COLUMNS = ("count", "zeros", "minimum", "maximum", "sum", "sum_of_squares")
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SimilarAcrossRuns.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    tolerance: float = 1e-6  # relative; another machine may sum in another order
    steps_in_a_row: int = 3  # with the same seed, a single step may be equal
    span_steps: int = 2


LIMITS = Calibration()


class SimilarAcrossRuns(Rule):
    """The tensors of this job are equal to those of another job.

    Why it matters: A job that repeats another one teaches nothing new: a setting that was meant to
    differ does not, or all members of an ensemble are the same.
    How it decides:
    - Tensors of the same name and step have equal counts, zeros, extremes and sums (within 1e-6),
      at 3 recorded steps in a row. Classic: at any step.
    - Not applied unless `other_trial` or `other_trials` names other jobs, by their names in the
      same store or by their URIs.
    What to do: Check that the seed, the data and the setting under test really differ.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    other_trial: str | None = None
    other_trials: tuple[str, ...] = ()

    section = Section.MODEL
    calibration = LIMITS
    needs = tuple(Statistics(item) for item in _DEFAULT_COLLECTIONS)
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """Return the selected tensors; by default weights and gradients."""
        if self.collection_names is None and self.tensor_regex is None:
            return self.needs
        return needs_of(self.collection_names, self.tensor_regex)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the tensors of both jobs at the same steps."""
        for job in self._other_jobs:
            yield from self._compare(window, job, state.of("jobs", job))

    def _compare(self, window: Window, job: str, state: State) -> Iterator[Finding]:
        theirs = {item.name: item for item in self._selected(window.other_job(job))}
        streaks = Streaks(state)
        ours = [item for item in self._selected(window) if item.name in theirs]
        common_steps = 0  # the largest number, over all tensors
        for tensor in ours:
            comparisons = list(_compare(tensor, theirs[tensor.name]))
            common_steps = max(common_steps, len(comparisons))
            for step, is_same in comparisons:
                streaks.note(tensor.name, step, holds=is_same)
                if is_same and self.is_classic:
                    yield self._finding([tensor.name], (step, step), job, f"{job}/{tensor.name}")
        state["compared"] = state.get("compared", 0) + common_steps
        same = [
            tensor.name
            for tensor in ours
            if tensor.name in streaks.lasting(LIMITS.steps_in_a_row, LIMITS.span_steps)
        ]
        if same and not self.is_classic:
            spans = [streaks.steps(name) for name in same]
            steps = (min(first for first, _ in spans), max(last for _, last in spans))
            yield self._finding(same, steps, job, job)

    def unfit(self, state: State) -> str:
        """Return a reason if the other job is not set."""
        del state
        return "" if self._other_jobs else "set other_trial to the job to compare with"

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many steps that both jobs have recorded are missing."""
        counts = [int(job.get("compared", 0)) for job in state.of("jobs").values()]
        count, needed = max(counts, default=0), 1 if self.is_classic else LIMITS.steps_in_a_row
        if count >= needed:
            return ""
        return Shortfall(count, needed, DataUnit.COMMON_STEPS)

    @property
    def _other_jobs(self) -> tuple[str, ...]:
        return tuple(filter(None, dict.fromkeys((self.other_trial, *self.other_trials))))

    def _selected(self, window: Window) -> list[WindowTensor]:
        is_default = self.collection_names is None and self.tensor_regex is None
        collections = _DEFAULT_COLLECTIONS if is_default else self.collection_names or ()
        return chosen_tensors(window, collections, self.tensor_regex)

    def _finding(self, names: list[str], steps: tuple[int, int], job: str, subject: str) -> Finding:
        verb = "has" if len(names) == 1 else "have"
        return self.finding(
            f"{first_and_count(names)} {verb} the same values as in {job} "
            f"from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=names[0],
            subject=subject,
            evidence={"tensors": names[:_MAX_LISTED], "count": len(names)},
        )


def _compare(ours: WindowTensor, theirs: WindowTensor) -> Iterator[tuple[int, bool]]:
    """Yield each common step and whether the tensor is the same at it."""
    steps, our_rows, their_rows = np.intersect1d(ours.steps, theirs.steps, return_indices=True)
    pairs = [(ours.column(name)[our_rows], theirs.column(name)[their_rows]) for name in _COLUMNS]
    is_same = np.ones(len(steps), dtype=np.bool_)
    for our_values, their_values in pairs:
        is_same &= np.isclose(
            our_values, their_values, rtol=LIMITS.tolerance, atol=0.0, equal_nan=True
        )
    yield from zip(steps.tolist(), is_same.tolist(), strict=True)
