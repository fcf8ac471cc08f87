"""WeightUpdateRatio: weights that jump, or do not move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.updates import COLUMNS, least_updates
from sonde.read.window import Window, WindowTensor
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.growth_pace import GrowthTracker
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_columns import by_tensor, column_of_all, steps_of_all
from sonde.rules.measures.tensor_selection import first_and_count

_COLLECTION = "weights"
_EVERY = "every weight"
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of WeightUpdateRatio.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    typical_rms: float = 1e-2  # a jump of such weights is the measure for smaller ones
    # steps between inspections at most, and root mean square at least
    jump_limits: tuple[tuple[int, float], tuple[int, float]] = ((3, 0.0001), (100, typical_rms))
    min_elements: int = 16  # single elements may take any value
    steps_in_a_row: int = 3  # recorded ones without movement
    span_steps: int = 50  # longer than the end of a schedule that falls to zero
    max_shared_steps: int = 100  # over which a change is divided; oscillation adds up to less
    min_share: float = 0.25  # of all steps; a schedule may end a little before the job
    min_gradient: float = 1e-12  # mean magnitude


LIMITS = Calibration()


@dataclass(frozen=True)
class _Moves:
    """The change of weights between two inspections, tensor by tensor."""

    tensors: IntArray  # which one, by its place among them
    before: IntArray  # the first step
    steps: IntArray  # the second
    ratios: FloatArray
    sizes: FloatArray  # the root mean squares before; nought of a few numbers

    def take(self, which: BoolArray) -> "_Moves":
        """Some of them."""
        return _Moves(
            self.tensors[which],
            self.before[which],
            self.steps[which],
            self.ratios[which],
            self.sizes[which],
        )

    def at(self, index: int) -> tuple[int, tuple[int, int], float]:
        """One of them: its tensor, its steps, its ratio."""
        steps = (int(self.before[index]), int(self.steps[index]))
        return int(self.tensors[index]), steps, float(self.ratios[index])


class WeightUpdateRatio(Rule):
    """Weight updates are far too large or too small compared with the weights.

    Why it matters: Large updates destroy what was learned; tiny ones learn nothing.
    How it decides:
    - The update is at least the change in norm, sum, magnitudes and extremes between two recorded
      steps (`num_steps` apart); its ratio to the weights' norm is compared.
    - Too large: above `large_threshold` within 100 steps for weights of typical size (0.01), or
      within 3 steps for smaller ones; or, within 400 steps, growth 20 times faster than ever.
    - Too small: below `small_threshold` per step for all weights together, at 3 recorded steps in a
      row that span 50 steps and a quarter of the job, although there are gradients.
    - Classic: above `large_threshold` or below `small_threshold` for any weight.
    What to do: Lower the learning rate for large updates, raise it for small ones, and check its
    schedule. Check that the optimizer owns the parameters and that the scaler does not skip steps.
    """

    num_steps: Count | None = None
    large_threshold: Positive = 10.0
    small_threshold: Positive = 1e-8
    epsilon: Positive = 1e-9

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics(_COLLECTION), Statistics("gradients"))
    window_steps: ClassVar[int] = 50

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares every weight with what it was."""
        tensors = window.tensors(_COLLECTION)
        gradients = () if self.is_classic else window.tensors("gradients")
        if not tensors:
            return
        moves = self._moves(tensors, state.of("rows"))
        names = [tensor.name for tensor in tensors]
        if self.is_classic:
            for index in range(len(moves.steps)):
                which, steps, ratio = moves.at(index)
                yield from self._classic(names[which], steps, ratio)
            return
        moves = moves.take(np.array([tensor.is_matrix for tensor in tensors])[moves.tensors])
        yield from self._jumps(tensors, moves, GrowthTracker(state.of("pace")))
        if len(moves.steps):
            yield from self._standstill(gradients, names, moves, Streaks(state))

    def lacks(self, state: State) -> str | Shortfall:
        """A second look at a weight."""
        is_compared = any(len(row) > 1 for row in state.of("rows").values())
        return "" if is_compared else Shortfall(1, 2, DataUnit.INSPECTIONS)

    def _moves(self, tensors: Sequence[WindowTensor], state: State) -> _Moves:
        """Compares rows with those before, of all tensors at once."""
        back = self.num_steps or 1
        columns = [steps_of_all(tensors), *(column_of_all(tensors, name) for name in COLUMNS)]
        joined: list[list[float]] = []  # of each tensor the rows before, then the new ones
        counts = []
        for tensor, tensor_rows in by_tensor(tensors, np.stack(columns, axis=1).tolist()):
            earlier = state.get(tensor.name, [])
            joined += [*earlier[-back:], *tensor_rows]
            counts.append(len(earlier[-back:]) + len(tensor_rows))
            state[tensor.name] = [*earlier, *tensor_rows][-back - 1 :]
        rows, indices = np.array(joined), np.repeat(np.arange(len(tensors)), counts)
        firsts = np.flatnonzero(indices[back:] == indices[:-back])
        before, after = rows[firsts], rows[firsts + back]
        with np.errstate(all="ignore"):  # what is no number is left out
            norms = np.sqrt(before[:, 2])
            ratios = least_updates(before[:, 1:], after[:, 1:]) / (norms + self.epsilon)
            sizes = np.where(
                before[:, 1] >= LIMITS.min_elements, norms / np.sqrt(before[:, 1]), 0.0
            )
        steps = (before[:, 0].astype(np.int64), after[:, 0].astype(np.int64))
        return _Moves(indices[firsts], *steps, ratios, sizes).take(np.isfinite(ratios))

    def _classic(self, name: str, steps: tuple[int, int], ratio: float) -> Iterator[Finding]:
        if ratio > self.large_threshold:
            yield self._jump(name, steps, ratio)
        elif ratio < self.small_threshold:
            yield self._still([name], steps, ratio, name)

    def _jumps(
        self, tensors: Sequence[WindowTensor], moves: _Moves, pace: GrowthTracker
    ) -> Iterator[Finding]:
        result: dict[int, tuple[tuple[int, int], float]] = {}
        against_usual = moves.ratios * np.minimum(moves.sizes / LIMITS.typical_rms, 1.0)
        for index in np.flatnonzero(against_usual > self.large_threshold).tolist():
            which, steps, ratio = moves.at(index)
            if _is_jump(steps[1] - steps[0], float(moves.sizes[index])):
                result.setdefault(which, (steps, ratio))
        for which, steps, ratio in pace.sudden_growth(tensors, self.large_threshold):
            if tensors[which].is_matrix:
                result.setdefault(which, (steps, ratio))
        for which, (steps, ratio) in result.items():
            yield self._jump(tensors[which].name, steps, ratio)

    def _standstill(
        self,
        gradients: Sequence[WindowTensor],
        names: Sequence[str],
        moves: _Moves,
        streaks: Streaks,
    ) -> Iterator[Finding]:
        steps, indices = np.unique(moves.steps, return_inverse=True)
        largest = np.zeros(len(steps))
        per_step = moves.ratios / np.clip(moves.steps - moves.before, 1, LIMITS.max_shared_steps)
        np.maximum.at(largest, indices, per_step)
        is_still = largest < self.small_threshold
        fed = _fed(gradients) if is_still.any() else set()
        for step, holds in zip(steps.tolist(), is_still.tolist(), strict=True):
            streaks.note(_EVERY, step, holds=holds and step in fed)
        span = max(LIMITS.span_steps, LIMITS.min_share * int(steps[-1]))
        if streaks.lasting(LIMITS.steps_in_a_row, round(span)):
            still = sorted(
                names[tensor] for tensor in moves.tensors[moves.steps == steps[-1]].tolist()
            )
            yield self._still(still, streaks.steps(_EVERY), float(largest[-1]), _EVERY)

    def _jump(self, name: str, steps: tuple[int, int], ratio: float) -> Finding:
        return self.finding(
            f"{name} changed by {ratio:.3g} times its norm from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=name,
            subject=f"{name} jumps",
            evidence={"ratio": ratio, "threshold": self.large_threshold},
        )

    def _still(
        self, names: list[str], steps: tuple[int, int], ratio: float, subject: str
    ) -> Finding:
        each = "" if self.is_classic else " per step"
        return self.finding(
            f"{first_and_count(names)} did not move from step {steps[0]} to {steps[1]}: the update "
            f"is {ratio:.3g} of its norm{each}.",
            step=steps,
            tensor=names[0],
            subject=f"{subject} does not change",
            evidence={
                "ratio": ratio,
                "threshold": self.small_threshold,
                "tensors": names[:_MAX_LISTED],
            },
        )


def _is_jump(steps: int, size: float) -> bool:
    return any(steps <= apart and size >= minimum for apart, minimum in LIMITS.jump_limits)


def _fed(gradients: Sequence[WindowTensor]) -> set[int]:
    """The steps at which any weight has got a gradient."""
    result: set[int] = set()
    for gradient in gradients:
        if gradient.is_matrix:
            has_some = gradient.column("sum_of_absolutes") > LIMITS.min_gradient * gradient.column(
                "count"
            )
            result.update(gradient.steps[has_some].tolist())
    return result
