"""WeightCollapse: regularization pulls the weights to zero, whatever the loss says."""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import middle_of
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import names_in_words, some
from sonde.rules.tensors._together import by_tensor, column_of_all

_SMALL = 0.1  # of its first norm: so far down weight decay in balance with a loss does not bring it
_GONE = 0.01  # of its first norm: nothing is left, whatever a loss with a penalty in it says
_MOST = 0.5  # of the weights
_NOT_BETTER = 0.8  # of the loss at the beginning
_FIRST_LOSSES = 5
_IN_A_ROW = 2  # windows with data


class WeightCollapse(Rule):
    """Weights shrink towards zero because regularization outweighs the loss.

    Why it matters: what the model has learned is pulled out of it; in the end it gives the same
    answer to everything.
    How it decides: it compares the norm of every weight matrix with its first one. It fires where
    at least half of them have shrunk below 10 % while the loss is not better than 80 % of what it
    was at the beginning, or below 1 % whatever the loss: it may hold the penalty itself. Single
    layers that are made sparse on purpose, and weight decay in balance with the loss, are left
    alone.
    What to do: divide weight_decay (or the factor of the penalty) by ten or more; usual values are
    1e-4 to 1e-2, with AdamW up to 0.1; do not decay biases and normalization layers.
    """

    needs = (Statistics("weights"),)
    window_steps: ClassVar[int] = 50
    explains: ClassVar[tuple[str, ...]] = (
        "LossNotDecreasing",
        "VanishingGradient",
        "DeadRelu",
        "WeightUpdateRatio",
        "LossDiverging",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares all weights with what they were."""
        self._take_losses(window, state)
        first, now = state.of("first"), state.of("now")
        tensors = [one for one in window.tensors("weights") if one.is_matrix]
        for one, squares in _squares(tensors):
            if squares and squares[0] > 0:
                first.setdefault(one.name, math.sqrt(squares[0]))
                now[one.name] = math.sqrt(squares[-1])
        if not tensors or not now:
            return
        ratios = {name: now[name] / first[name] for name in now}
        limit = _SMALL if self._is_not_better(state) else _GONE
        small = sorted((name for name in ratios if ratios[name] < limit), key=ratios.__getitem__)
        state["row"] = state.get("row", 0) + 1 if len(small) >= _MOST * len(ratios) else 0
        if state["row"] >= _IN_A_ROW:
            yield self._found(window, small, ratios, state)

    def lacks(self, state: State) -> str | Shortfall:
        """That there must be two looks at the weights."""
        return "" if state.of("now") else Shortfall(0, 1, DataUnit.INSPECTIONS)

    def _take_losses(self, window: Window, state: State) -> None:
        curves = window.losses()
        finite = [curve.values[np.isfinite(curve.values)] for curve in curves]
        known = [values for values in finite if len(values)]
        if len(known) == 1:
            state.setdefault("loss_first", middle_of(known[0][:_FIRST_LOSSES]))
            state["loss_now"] = middle_of(known[0])

    def _is_not_better(self, state: State) -> bool:
        first, now = state.get("loss_first"), state.get("loss_now")
        return first is not None and first > 0 and now >= _NOT_BETTER * first

    def _found(
        self, window: Window, small: list[str], ratios: dict[str, float], state: State
    ) -> Finding:
        worst = small[0]
        first, now = state.of("first")[worst], state.of("now")[worst]
        return self.finding(
            f"{len(small)} of {len(ratios)} weights have shrunk to less than a tenth: "
            f"{names_in_words(small)}. The norm of {worst} was {first:.3g} and is {now:.3g}.",
            tensor=worst,
            subject="weights",
            evidence={
                "ratio": ratios[worst],
                "tensors": some(small),
                "count": len(small),
                "of": len(ratios),
                "first_norm": first,
                "norm": now,
                "loss_at_the_beginning": state.get("loss_first"),
                "loss": state.get("loss_now"),
            },
            step=(0, max(0, (window.first_step or 0))),
        )


def _squares(tensors: Sequence[WindowTensor]) -> Iterator[tuple[WindowTensor, list[float]]]:
    """The sums of squares of each, where all of it is finite."""
    if tensors:
        bad = column_of_all(tensors, "nans") + column_of_all(tensors, "infinities")
        pairs = zip(column_of_all(tensors, "sum_of_squares").tolist(), bad.tolist(), strict=True)
        for one, own in by_tensor(tensors, list(pairs)):
            yield one, [squares for squares, is_bad in own if not is_bad]
