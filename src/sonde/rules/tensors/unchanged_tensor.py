"""UnchangedTensor: a tensor has the same values at several recorded steps in a row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Need, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.tensor_columns import by_tensor, column_of_all, steps_of_all
from sonde.rules.measures.tensor_selection import chosen_tensors, first_and_count, needs_of

_WEIGHTS, _GRADIENTS = "weights", "gradients"
_REDUCTIONS = ("min", "max", "mean", "l2_norm", "nan_count")
_COLUMNS = ("minimum", "maximum", "sum", "sum_of_squares", "nans")  # compared exactly
_MAX_LISTED = 8

Row = list[float]  # the step, then the reductions


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of UnchangedTensor.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    tolerance: float = 1e-9  # relative; the order of summation may differ
    span_steps: int = 30  # warm-up from zero and the first inspections are closer together
    min_gradient: float = 1e-12  # mean magnitude


LIMITS = Calibration()


class UnchangedTensor(Rule):
    """A tensor has the same values at several recorded steps in a row.

    Why it matters: A tensor that does not change does not learn, or gets no input.
    How it decides:
    - Minimum, maximum, sum and norm of a weight are exactly the same for 30 steps and `num_steps`
      recorded steps after its first gradient, while other weights change.
    - If `collection_names` or `tensor_regex` selects tensors: any of them does not change for that
      long, with or without a gradient, whatever the others do.
    - Not applied if a parameter group has a learning rate of zero.
    - Classic: minimum, maximum, mean and norm of any (selected) tensor are equal, within `rtol` and
      `atol`, at `num_steps` recorded steps.
    What to do: Check that the optimizer owns the parameter, that its learning rate is not too small
    for the precision of the weights (bfloat16 rounds small updates away), and that nothing copies
    old values back.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    num_steps: Count = 3
    rtol: Positive = 1e-5
    atol: Positive = 1e-8
    equal_nan: bool = False

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics(_WEIGHTS), Statistics(_GRADIENTS))
    window_steps: ClassVar[int] = 50

    @property
    def needed(self) -> tuple[Need, ...]:
        """Return the selected tensors; by default weights and gradients."""
        return needs_of(self.collection_names, self.tensor_regex) if self._is_set else self.needs

    @property
    def _is_set(self) -> bool:
        return self.collection_names is not None or self.tensor_regex is not None

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare recorded tensors with their previous rows."""
        if self.is_classic:
            yield from self._check_classic(window, state)
        else:
            yield from self._check_calibrated(window, state)

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many recorded steps are missing."""
        lengths = [len(row) for row in state.of("rows").values()]
        count = max([*lengths, *(int(item[0]) for item in state.of("same").values())], default=0)
        if count >= self.num_steps or state.get("moves"):
            return ""
        return Shortfall(count, self.num_steps, DataUnit.INSPECTIONS)

    def _check_classic(self, window: Window, state: State) -> Iterator[Finding]:
        tensors = chosen_tensors(window, self.collection_names, self.tensor_regex)
        window.count(sum(len(tensor.steps) for tensor in tensors))
        rows_state = state.of("rows")
        for tensor in tensors:
            recent: list[Row] = rows_state.get(tensor.name, [])
            for row in _rows(tensor):
                recent = [*recent, row][-self.num_steps :]
                if len(recent) == self.num_steps > 1 and self._are_close(recent):
                    yield self._finding(
                        [tensor.name], (int(recent[0][0]), int(row[0])), tensor.name
                    )
            rows_state[tensor.name] = recent

    def _are_close(self, rows: list[Row]) -> bool:
        values = np.array(rows)[:, 1:]
        return np.allclose(
            values[1:], values[:1], rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan
        )

    def _check_calibrated(self, window: Window, state: State) -> Iterator[Finding]:
        weights = self._compared(window)
        same = state.of("same")  # by tensor: number of equal rows, and the first of them
        gradient_starts = _gradient_starts(window.tensors(_GRADIENTS), state)
        for tensor, rows in by_tensor(weights, _exact_rows(weights)):
            for row in rows:
                count, first = same.get(tensor.name, (0, row))
                is_same = count and all(map(_is_equal, row[1:], first[1:]))
                if count and not is_same:
                    state["moves"] = True
                same[tensor.name] = [count + 1, first] if is_same else [1, row]
        stuck = []
        for tensor in weights:
            count, first = same[tensor.name]
            last = int(tensor.steps[-1])
            trained_since = (
                int(first[0]) if self._is_set else gradient_starts.get(tensor.name, last)
            )
            since = max(int(first[0]), trained_since)
            if count >= max(self.num_steps, 2) and last - since >= LIMITS.span_steps:
                stuck.append((tensor.name, since, last))
        if not stuck or _is_frozen_on_purpose(window):
            return
        if self._is_set or len(stuck) < len(weights):
            names = [name for name, _, _ in stuck]
            steps = (min(since for _, since, _ in stuck), max(last for _, _, last in stuck))
            yield self._finding(names, steps, _WEIGHTS)

    def _compared(self, window: Window) -> list[WindowTensor]:
        """Return the selected tensors; by default the weights that are matrices."""
        if self._is_set:
            return chosen_tensors(window, self.collection_names, self.tensor_regex)
        return [tensor for tensor in window.tensors(_WEIGHTS) if tensor.is_matrix]

    def _finding(self, names: list[str], steps: tuple[int, int], subject: str) -> Finding:
        return self.finding(
            f"{first_and_count(names)} did not change from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=names[0],
            subject=subject,
            evidence={"tensors": names[:_MAX_LISTED], "count": len(names)},
        )


def _rows(tensor: WindowTensor) -> Iterator[Row]:
    columns = [tensor.values(name).tolist() for name in _REDUCTIONS]
    for step, *values in zip(tensor.steps.tolist(), *columns, strict=True):
        yield [float(step), *values]


def _exact_rows(tensors: Sequence[WindowTensor]) -> list[Row]:
    if not tensors:
        return []
    columns = [column_of_all(tensors, name).tolist() for name in _COLUMNS]
    return list(map(list, zip(steps_of_all(tensors).tolist(), *columns, strict=True)))


def _is_equal(value: float, other: float) -> bool:
    return isclose(value, other, rel_tol=LIMITS.tolerance)


def _gradient_starts(gradients: Sequence[WindowTensor], state: State) -> dict[str, int]:
    """Return the first recorded step with a gradient of each weight that has one now.

    A head that is trained in only one phase of a job does not change in the other phases.
    """
    starts: dict[str, int] = state.of("fed")
    current = {}
    for gradient in gradients:
        sizes = gradient.column("sum_of_absolutes")
        is_nonzero = sizes > LIMITS.min_gradient * gradient.column("count")
        if bool(is_nonzero.any()):
            name = gradient.name.removeprefix("gradient/")
            current[name] = starts.get(name, int(gradient.steps[is_nonzero][0]))
    if gradients:
        starts.clear()
        starts |= current
    return starts


def _is_frozen_on_purpose(window: Window) -> bool:
    """Whether a parameter group has a learning rate of zero."""
    rates = [curve.values for curve in window.scalars("learning_rate/*")]
    return any(bool((rate == 0).all()) for rate in rates)
