"""AllZero: all values of a tensor are zero."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.formats import format_exact_percent
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_selection import chosen_tensors, needs_of, tensor_label


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of AllZero.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    steps_in_a_row: int = 3  # at the first recorded step, many tensors are zero on purpose


LIMITS = Calibration()


class AllZero(Rule):
    """All values of a selected tensor are zero.

    Why it matters: A gradient, activation or input of zeros carries no information, so nothing is
    learned from it.
    How it decides:
    - At least `threshold` percent of the values of a selected tensor are zero.
    - This holds at 3 recorded steps in a row. Classic: at any recorded step.
    - Not applied unless `collection_names` or `tensor_regex` selects tensors.
    What to do: Find out where the zeros come from: an empty input, a dead activation, a mask that
    hides everything, or a layer whose output is not used.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    threshold: Percent = 100.0

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics("all"),)
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """Return the statistics of the selected tensors."""
        return needs_of(self.collection_names, self.tensor_regex) if self._is_set else ()

    @property
    def _is_set(self) -> bool:
        return self.collection_names is not None or self.tensor_regex is not None

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the share of zeros in each selected tensor with the threshold."""
        if not self._is_set:
            return
        streaks = Streaks(state)
        for tensor in chosen_tensors(window, self.collection_names, self.tensor_regex):
            percent = 0.0
            for step, share in tensor.reduction("zero_fraction"):
                percent = 100 * share
                streaks.note(tensor.name, step, holds=percent >= self.threshold)
                if self.is_classic and percent >= self.threshold:
                    yield self._finding(tensor.name, percent, (step, step), tensor.worker)
            if not self.is_classic and streaks.rows(tensor.name) >= LIMITS.steps_in_a_row:
                steps = streaks.steps(tensor.name)
                yield self._finding(tensor.name, percent, steps, tensor.worker)

    def unfit(self, state: State) -> str:
        """Return a reason if no tensors are selected."""
        del state
        return "" if self._is_set else "set collection_names or tensor_regex to select tensors"

    def _finding(
        self, name: str, percent: float, steps: tuple[int, int], worker: int | None
    ) -> Finding:
        return self.finding(
            f"{format_exact_percent(percent, digits=2)} of the values of {tensor_label(name)} are "
            "zero.",
            step=steps,
            tensor=name,
            worker=worker,
            evidence={"zero_percent": percent, "threshold": self.threshold},
        )
