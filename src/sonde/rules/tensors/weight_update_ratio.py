"""WeightUpdateRatio: weights that jump, or do not move."""

from collections.abc import Iterator
from math import isfinite, sqrt
from typing import ClassVar

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import and_more
from sonde.rules.tensors._streaks import Streaks

_COLLECTION = "weights"
_COLUMNS = ("count", "sum_of_squares", "sum", "sum_of_absolutes", "minimum", "maximum")
# A jump is what happens between two looks that are so many steps apart, to weights whose root mean
# square was at least so large: layers that begin at (nearly) nought grow by any factor, in time.
_JUMPS = ((3, 1e-4), (100, 1e-2))
_FEW = 16  # elements: single numbers may go anywhere
_IN_A_ROW = 3  # recorded steps without movement
_SPAN = 50  # steps: longer than the end of a schedule that falls to nought
_OF_ALL = 0.25  # steps so far: a schedule may end a little before the job does
_LEAST_GRADIENT = 1e-12  # the mean magnitude: below it there is nothing to follow
_EVERY = "every weight"
_NAMED = 8


class WeightUpdateRatio(Rule):
    """The updates of weights are far too large, or nothing, against the weights themselves.

    Why it matters: large updates throw away what was learned, tiny ones learn nothing.
    How it decides: from the statistics of weights at one recorded step and the one before (or
    num_steps recorded steps before): the change of their norm, sum, magnitudes and extremes, of
    which the largest is a lower bound for the norm of the update. Classic fires wherever its ratio
    to the weights' norm is above large_threshold or below small_threshold. Calibrated takes as a
    jump what happens within three steps to weights that are not nearly nought, or within a hundred
    to weights of usual size, and as standstill only that of all weights together, over three
    recorded steps, 50 steps and a quarter of all steps in a row, while they have gradients.
    What to do: change the learning rate, down for jumps and up for standstill; look at its
    schedule; check that the optimizer owns the parameters and that the scaler does not skip steps.
    """

    num_steps: Count | None = None
    large_threshold: Positive = 10.0
    small_threshold: Positive = 1e-8
    epsilon: Positive = 1e-9

    needs = (Statistics(_COLLECTION), Statistics("gradients"))
    window_steps: ClassVar[int] = 50

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares every weight with what it was."""
        tensors = window.tensors(_COLLECTION)
        moves: dict[int, dict[str, float]] = {}  # ratios by step and tensor
        for tensor in tensors:
            for step, before, ratio, size in self._ratios(tensor, state.of("rows")):
                if self.is_classic:
                    yield from self._classic(tensor.name, (before, step), ratio)
                elif tensor.is_matrix:
                    moves.setdefault(step, {})[tensor.name] = ratio
                    if ratio > self.large_threshold and _is_jump(step - before, size):
                        yield self._jump(tensor.name, (before, step), ratio)
        if not self.is_classic:
            yield from self._standstill(window, moves, state)

    def lacks(self, state: State) -> str:
        """A second look at a weight."""
        is_compared = any(len(one) > 1 for one in state.of("rows").values())
        return "" if is_compared else "weights were recorded at one step; it needs two"

    def _ratios(self, tensor: WindowTensor, kept: State) -> Iterator[tuple[int, int, float, float]]:
        """Step, the one before, ratio, and the root mean square before; nought of a few numbers."""
        columns = [tensor.column(name).tolist() for name in _COLUMNS]
        back = self.num_steps or 1
        known = kept.get(tensor.name, [])
        for place, step in enumerate(tensor.steps.tolist()):
            row = [step, *(column[place] for column in columns)]
            if len(known) >= back:
                before = known[-back]
                norm = sqrt(before[2])
                ratio = _least_update(before[1:], row[1:]) / (norm + self.epsilon)
                size = norm / sqrt(before[1]) if before[1] >= _FEW else 0.0
                if isfinite(ratio):
                    yield step, int(before[0]), ratio, size
            known = [*known, row][-(back + 1) :]
        kept[tensor.name] = known

    def _classic(self, name: str, steps: tuple[int, int], ratio: float) -> Iterator[Finding]:
        if ratio > self.large_threshold:
            yield self._jump(name, steps, ratio)
        elif ratio < self.small_threshold:
            yield self._still([name], steps, ratio, name)

    def _standstill(
        self, window: Window, moves: dict[int, dict[str, float]], state: State
    ) -> Iterator[Finding]:
        streaks = Streaks(state)
        gradients: set[int] = set()
        for one in window.tensors("gradients"):
            if not one.is_matrix:
                continue
            has_some = one.column("sum_of_absolutes") > _LEAST_GRADIENT * one.column("count")
            gradients.update(one.steps[has_some].tolist())
        names: list[str] = []
        for step in sorted(moves):
            largest = max(moves[step].values())
            is_still = largest < self.small_threshold and step in gradients
            streaks.note(_EVERY, step, holds=is_still)
            names = sorted(moves[step])
        span = max(_SPAN, _OF_ALL * max(moves, default=0))
        if names and streaks.lasting(_IN_A_ROW, round(span)):
            yield self._still(names, streaks.steps(_EVERY), largest, _EVERY)

    def _jump(self, name: str, steps: tuple[int, int], ratio: float) -> Finding:
        return self.finding(
            f"{name} has changed by {ratio:.3g} times its size from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=name,
            subject=f"{name} jumps",
            evidence={"ratio": ratio, "threshold": self.large_threshold},
        )

    def _still(
        self, names: list[str], steps: tuple[int, int], ratio: float, subject: str
    ) -> Finding:
        return self.finding(
            f"{and_more(names)} did not move from step {steps[0]} to {steps[1]}: the update is "
            f"{ratio:.3g} of its size.",
            step=steps,
            tensor=names[0],
            subject=f"{subject} stands still",
            evidence={
                "ratio": ratio,
                "threshold": self.small_threshold,
                "tensors": names[:_NAMED],
            },
        )


def _is_jump(steps: int, size: float) -> bool:
    return any(steps <= apart and size >= least for apart, least in _JUMPS)


def _least_update(before: list[float], after: list[float]) -> float:
    """A lower bound for the norm of the difference of two tensors, from their statistics."""
    root = sqrt(max(before[0], 1.0))
    norms = abs(sqrt(after[1]) - sqrt(before[1]))
    sums = [abs(one - other) / root for one, other in zip(after[2:4], before[2:4], strict=True)]
    extremes = [abs(one - other) for one, other in zip(after[4:], before[4:], strict=True)]
    return max(norms, *sums, *extremes)
