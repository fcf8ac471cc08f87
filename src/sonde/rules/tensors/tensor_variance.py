"""TensorVariance: the variance of a tensor is outside the bounds you set."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.rules._parameters import Positive, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_selection import chosen_tensors, needs_of, tensor_label


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of TensorVariance.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    steps_in_a_row: int = 3  # recorded steps


LIMITS = Calibration()


class TensorVariance(Rule):
    """The variance of a tensor is outside the bounds you set.

    Why it matters: Very large values saturate or explode on the way through the layers; very small
    ones vanish.
    How it decides:
    - The variance of a tensor is above `max_threshold` or below `min_threshold` at 3 recorded steps
      in a row. Classic: at any recorded step.
    - Tensors with a single element do not count.
    - Checks the tensors that `collection_names` and `tensor_regex` select; by default all that are
      recorded. Not applied unless one of the two thresholds is set.
    What to do: Change the layer's initialization or scale, or normalize.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    max_threshold: Positive | None = None
    min_threshold: Positive | None = None

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics("weights"), Statistics("gradients"))
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """Return the selected tensors; by default weights and gradients."""
        if self.collection_names is None and self.tensor_regex is None:
            return self.needs
        return needs_of(self.collection_names, self.tensor_regex)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the variance of every recorded tensor with the bounds."""
        if not self._is_set:
            return
        tensors = chosen_tensors(window, self.collection_names, self.tensor_regex)
        window.count(sum(len(tensor.steps) for tensor in tensors))
        streaks = Streaks(state)
        for tensor in tensors:
            is_single = tensor.column("count") < 2
            last = 0.0
            for index, (step, variance) in enumerate(tensor.reduction("variance")):
                is_out = self._is_outside(variance)
                if self.is_classic and is_out:
                    yield self._finding(tensor.name, variance, (step, step), tensor.worker)
                if not is_single[index]:
                    streaks.note(tensor.name, step, holds=is_out)
                    last = variance
            if not self.is_classic and streaks.rows(tensor.name) >= LIMITS.steps_in_a_row:
                steps = streaks.steps(tensor.name)
                yield self._finding(tensor.name, last, steps, tensor.worker)

    def unfit(self, state: State) -> str:
        """Return a reason if no bound is set."""
        del state
        return "" if self._is_set else "set max_threshold or min_threshold"

    @property
    def _is_set(self) -> bool:
        return self.max_threshold is not None or self.min_threshold is not None

    def _is_outside(self, variance: float) -> bool:
        if np.isnan(variance):
            return False
        is_above = self.max_threshold is not None and variance > self.max_threshold
        return is_above or (self.min_threshold is not None and variance < self.min_threshold)

    def _finding(
        self, name: str, variance: float, steps: tuple[int, int], worker: int | None
    ) -> Finding:
        is_above = self.max_threshold is not None and variance > self.max_threshold
        limit = self.max_threshold if is_above else self.min_threshold
        side = "above" if is_above else "below"
        return self.finding(
            f"The variance of {tensor_label(name)} is {variance:.3g}, {side} {limit:.3g}.",
            step=steps,
            tensor=name,
            worker=worker,
            evidence={"variance": variance, "limit": limit},
        )
