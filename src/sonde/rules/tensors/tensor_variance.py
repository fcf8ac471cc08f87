"""TensorVariance: a tensor whose values spread too far, or hardly at all."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import layer_of
from sonde.rules.tensors._streaks import Streaks

_IN_A_ROW = 3  # recorded steps


class TensorVariance(Rule):
    """The variance of a tensor is outside the bounds that were set.

    Why it matters: very large values saturate or explode, very small ones vanish, on the way
    through the layers.
    How it decides: classic fires at every recorded step at which the variance of a tensor is above
    max_threshold or below min_threshold. Calibrated wants three recorded steps in a row and leaves
    out tensors of one value, which have no variance. It needs one of the two to be set.
    What to do: change the initialization of the layer or its scale; normalize.
    """

    max_threshold: Positive | None = None
    min_threshold: Positive | None = None

    needs = (Statistics("weights"), Statistics("gradients"))
    window_steps: ClassVar[int] = 50

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the variance of everything that was recorded."""
        if not self._is_set:
            return
        tensors = window.tensors("all")
        window.count(sum(len(one.steps) for one in tensors))
        streaks = Streaks(state)
        for tensor in tensors:
            is_single = tensor.column("count") < 2
            last = 0.0
            for place, (step, variance) in enumerate(tensor.reduction("variance")):
                is_out = self._is_outside(variance)
                if self.is_classic and is_out:
                    yield self._found(tensor.name, variance, (step, step), tensor.worker)
                if not is_single[place]:
                    streaks.note(tensor.name, step, holds=is_out)
                    last = variance
            if not self.is_classic and streaks.rows(tensor.name) >= _IN_A_ROW:
                steps = streaks.steps(tensor.name)
                yield self._found(tensor.name, last, steps, tensor.worker)

    def unfit(self, state: State) -> str:
        """No bound was set."""
        del state
        return "" if self._is_set else "set max_threshold or min_threshold: it compares nothing"

    @property
    def _is_set(self) -> bool:
        return self.max_threshold is not None or self.min_threshold is not None

    def _is_outside(self, variance: float) -> bool:
        if np.isnan(variance):
            return False
        is_above = self.max_threshold is not None and variance > self.max_threshold
        return is_above or (self.min_threshold is not None and variance < self.min_threshold)

    def _found(
        self, name: str, variance: float, steps: tuple[int, int], worker: int | None
    ) -> Finding:
        is_above = self.max_threshold is not None and variance > self.max_threshold
        limit = self.max_threshold if is_above else self.min_threshold
        what = f"the gradient of {layer_of(name)}" if name.startswith("gradient/") else name
        side = "above" if is_above else "below"
        return self.finding(
            f"The variance of {what} is {variance:.3g}, {side} {limit:.3g}.",
            step=steps,
            tensor=name,
            worker=worker,
            evidence={"variance": variance, "limit": limit},
        )
