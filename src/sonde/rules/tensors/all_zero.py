"""AllZero: a tensor that holds nothing but noughts."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import chosen_tensors, layer_of, needs_of
from sonde.rules.tensors._streaks import Streaks

_IN_A_ROW = 3  # recorded steps: at the first one, many tensors are nought on purpose


class AllZero(Rule):
    """Tensors of one's choice are all nought.

    Why it matters: a gradient, an activation or an input that is nought teaches nothing.
    How it decides: classic fires at every recorded step at which at least threshold percent of a
    chosen tensor's values are nought. Calibrated wants three recorded steps in a row. It needs to
    be told which tensors: collection_names or tensor_regex.
    What to do: look for where it comes from: an input that is empty, a dead activation, a mask that
    hides everything, a layer whose output is not used.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    threshold: Percent = 100.0

    needs = (Statistics("all"),)
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """What was chosen."""
        return needs_of(self.collection_names, self.tensor_regex) if self._is_set else ()

    @property
    def _is_set(self) -> bool:
        return self.collection_names is not None or self.tensor_regex is not None

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Counts noughts."""
        if not self._is_set:
            return
        streaks = Streaks(state)
        for tensor in chosen_tensors(window, self.collection_names, self.tensor_regex):
            percent = 0.0
            for step, share in tensor.reduction("zero_fraction"):
                percent = 100 * share
                streaks.note(tensor.name, step, holds=percent >= self.threshold)
                if self.is_classic and percent >= self.threshold:
                    yield self._found(tensor.name, percent, (step, step), tensor.worker)
            if not self.is_classic and streaks.rows(tensor.name) >= _IN_A_ROW:
                steps = streaks.steps(tensor.name)
                yield self._found(tensor.name, percent, steps, tensor.worker)

    def unfit(self, state: State) -> str:
        """Nobody has said where to look."""
        del state
        return "" if self._is_set else "set collection_names or tensor_regex: it looks at nothing"

    def _found(
        self, name: str, percent: float, steps: tuple[int, int], worker: int | None
    ) -> Finding:
        is_gradient = name.startswith("gradient/")
        what = f"the gradient of {layer_of(name)}" if is_gradient else name
        return self.finding(
            f"{percent:.4g} % of {what} are nought.",
            step=steps,
            tensor=name,
            worker=worker,
            evidence={"zero_percent": percent, "threshold": self.threshold},
        )
