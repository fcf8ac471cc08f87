"""WeightCollapse: weights shrink toward zero because regularization outweighs the loss."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import first_names, summarize_names
from sonde.rules.measures.tensor_columns import by_tensor, column_of_all


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of WeightCollapse.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    small_ratio: float = 0.1  # of the first norm; balanced weight decay stays above
    gone_ratio: float = 0.01  # of the first norm, whatever the loss (it may include the penalty)
    min_share: float = 0.5  # of the weights
    not_better_share: float = 0.8  # of the initial loss
    initial_losses: int = 5  # their median is the initial loss
    windows_in_a_row: int = 2  # with data


LIMITS = Calibration()


class WeightCollapse(Rule):
    """Weights shrink toward zero because regularization outweighs the loss.

    Why it matters: The model loses what it has learned, until it gives the same output for every
    input.
    How it decides:
    - The norm of at least half of the weight matrices is below 10% of its first value while the
      loss is above 80% of its initial value; or below 1%, whatever the loss.
    - This holds in 2 windows of 50 steps in a row.
    - Single layers that are made sparse on purpose do not count.
    What to do: Divide `weight_decay` (or the penalty's factor) by ten or more. Typical values are
    1e-4 to 1e-2, with AdamW up to 0.1. Do not decay biases and normalization layers.
    """

    section = Section.MODEL
    calibration = LIMITS
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
        """Compare the norms of all weights with their initial norms."""
        self._add_losses(window, state)
        initial, current = state.of("first"), state.of("now")
        tensors = [tensor for tensor in window.tensors("weights") if tensor.is_matrix]
        for tensor, squares in _finite_squares(tensors):
            if squares and squares[0] > 0:
                initial.setdefault(tensor.name, math.sqrt(squares[0]))
                current[tensor.name] = math.sqrt(squares[-1])
        if not tensors or not current:
            return
        ratios = {name: current[name] / initial[name] for name in current}
        limit = LIMITS.small_ratio if self._is_not_better(state) else LIMITS.gone_ratio
        shrunk = sorted((name for name in ratios if ratios[name] < limit), key=ratios.__getitem__)
        state["row"] = (
            state.get("row", 0) + 1 if len(shrunk) >= LIMITS.min_share * len(ratios) else 0
        )
        if state["row"] >= LIMITS.windows_in_a_row:
            yield self._finding(window, shrunk, ratios, state)

    def lacks(self, state: State) -> str | Shortfall:
        """Return a shortfall until weights have been inspected."""
        return "" if state.of("now") else Shortfall(0, 1, DataUnit.INSPECTIONS)

    def _add_losses(self, window: Window, state: State) -> None:
        curves = window.losses()
        finite = [curve.values[np.isfinite(curve.values)] for curve in curves]
        nonempty = [values for values in finite if len(values)]
        if len(nonempty) == 1:
            state.setdefault("loss_first", median_of(nonempty[0][: LIMITS.initial_losses]))
            state["loss_now"] = median_of(nonempty[0])

    def _is_not_better(self, state: State) -> bool:
        first, now = state.get("loss_first"), state.get("loss_now")
        return first is not None and first > 0 and now >= LIMITS.not_better_share * first

    def _finding(
        self, window: Window, shrunk: list[str], ratios: dict[str, float], state: State
    ) -> Finding:
        worst = shrunk[0]
        first, now = state.of("first")[worst], state.of("now")[worst]
        return self.finding(
            f"{len(shrunk)} of {len(ratios)} weights have shrunk below 10% of their initial norm: "
            f"{summarize_names(shrunk)}. The norm of {worst} fell from {first:.3g} to {now:.3g}.",
            tensor=worst,
            subject="weights",
            evidence={
                "ratio": ratios[worst],
                "tensors": first_names(shrunk),
                "count": len(shrunk),
                "of": len(ratios),
                "first_norm": first,
                "norm": now,
                "loss_at_the_beginning": state.get("loss_first"),
                "loss": state.get("loss_now"),
            },
            step=(0, max(0, (window.first_step or 0))),
        )


def _finite_squares(tensors: Sequence[WindowTensor]) -> Iterator[tuple[WindowTensor, list[float]]]:
    """Yield each tensor with the sums of squares of its finite rows."""
    if tensors:
        bad = column_of_all(tensors, "nans") + column_of_all(tensors, "infinities")
        pairs = zip(column_of_all(tensors, "sum_of_squares").tolist(), bad.tolist(), strict=True)
        for tensor, tensor_rows in by_tensor(tensors, list(pairs)):
            yield tensor, [squares for squares, is_bad in tensor_rows if not is_bad]
