"""WeightUpdateRatio: weight updates are far too large or too small."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.updates import COLUMNS, min_update_norms
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
_ALL = "every weight"
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of WeightUpdateRatio.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    typical_rms: float = 1e-2  # updates of smaller weights are compared with this size
    # maximum steps between inspections, minimum root mean square
    jump_limits: tuple[tuple[int, float], tuple[int, float]] = ((3, 0.0001), (100, typical_rms))
    min_elements: int = 16  # single elements may take any value
    steps_in_a_row: int = 3  # recorded steps without change
    span_steps: int = 50  # longer than the end of a learning rate schedule
    max_shared_steps: int = 100  # a change is divided by at most this; oscillations cancel out
    min_share: float = 0.25  # of all steps; a schedule may end shortly before the job
    min_gradient: float = 1e-12  # mean magnitude


LIMITS = Calibration()


@dataclass(frozen=True)
class _Updates:
    """Changes of weights between two inspections; the elements of all arrays correspond."""

    tensors: IntArray  # indices
    before: IntArray  # steps of the first inspections
    steps: IntArray  # steps of the second inspections
    ratios: FloatArray
    sizes: FloatArray  # root mean squares before the update; zero for tensors of a few elements

    def select(self, mask: BoolArray) -> "_Updates":
        """Return the updates in a mask."""
        return _Updates(
            self.tensors[mask],
            self.before[mask],
            self.steps[mask],
            self.ratios[mask],
            self.sizes[mask],
        )

    def at(self, index: int) -> tuple[int, tuple[int, int], float]:
        """Return the tensor index, the steps and the ratio of an update."""
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
        """Compare the updates of weights with the thresholds."""
        tensors = window.tensors(_COLLECTION)
        gradients = () if self.is_classic else window.tensors("gradients")
        if not tensors:
            return
        updates = self._updates(tensors, state.of("rows"))
        names = [tensor.name for tensor in tensors]
        if self.is_classic:
            for index in range(len(updates.steps)):
                tensor_index, steps, ratio = updates.at(index)
                yield from self._check_classic(names[tensor_index], steps, ratio)
            return
        updates = updates.select(
            np.array([tensor.is_matrix for tensor in tensors])[updates.tensors]
        )
        yield from self._check_jumps(tensors, updates, GrowthTracker(state.of("pace")))
        if len(updates.steps):
            yield from self._check_standstill(gradients, names, updates, Streaks(state))

    def lacks(self, state: State) -> str | Shortfall:
        """Return a shortfall until a weight has been inspected twice."""
        is_compared = any(len(row) > 1 for row in state.of("rows").values())
        return "" if is_compared else Shortfall(1, 2, DataUnit.INSPECTIONS)

    def _updates(self, tensors: Sequence[WindowTensor], state: State) -> _Updates:
        """Compare the rows of all tensors with earlier rows."""
        distance = self.num_steps or 1
        columns = [steps_of_all(tensors), *(column_of_all(tensors, name) for name in COLUMNS)]
        joined: list[list[float]] = []  # for each tensor, earlier rows and then new ones
        counts = []
        for tensor, tensor_rows in by_tensor(tensors, np.stack(columns, axis=1).tolist()):
            earlier = state.get(tensor.name, [])
            joined += [*earlier[-distance:], *tensor_rows]
            counts.append(len(earlier[-distance:]) + len(tensor_rows))
            state[tensor.name] = [*earlier, *tensor_rows][-distance - 1 :]
        rows, indices = np.array(joined), np.repeat(np.arange(len(tensors)), counts)
        firsts = np.flatnonzero(indices[distance:] == indices[:-distance])
        before, after = rows[firsts], rows[firsts + distance]
        with np.errstate(all="ignore"):  # results that are not finite are dropped
            norms = np.sqrt(before[:, 2])
            ratios = min_update_norms(before[:, 1:], after[:, 1:]) / (norms + self.epsilon)
            sizes = np.where(
                before[:, 1] >= LIMITS.min_elements, norms / np.sqrt(before[:, 1]), 0.0
            )
        steps = (before[:, 0].astype(np.int64), after[:, 0].astype(np.int64))
        return _Updates(indices[firsts], *steps, ratios, sizes).select(np.isfinite(ratios))

    def _check_classic(self, name: str, steps: tuple[int, int], ratio: float) -> Iterator[Finding]:
        if ratio > self.large_threshold:
            yield self._jump_finding(name, steps, ratio)
        elif ratio < self.small_threshold:
            yield self._standstill_finding([name], steps, ratio, name)

    def _check_jumps(
        self, tensors: Sequence[WindowTensor], updates: _Updates, growth: GrowthTracker
    ) -> Iterator[Finding]:
        jumps: dict[int, tuple[tuple[int, int], float]] = {}
        scaled = updates.ratios * np.minimum(updates.sizes / LIMITS.typical_rms, 1.0)
        for index in np.flatnonzero(scaled > self.large_threshold).tolist():
            tensor_index, steps, ratio = updates.at(index)
            if _is_jump(steps[1] - steps[0], float(updates.sizes[index])):
                jumps.setdefault(tensor_index, (steps, ratio))
        for tensor_index, steps, ratio in growth.sudden_growth(tensors, self.large_threshold):
            if tensors[tensor_index].is_matrix:
                jumps.setdefault(tensor_index, (steps, ratio))
        for tensor_index, (steps, ratio) in jumps.items():
            yield self._jump_finding(tensors[tensor_index].name, steps, ratio)

    def _check_standstill(
        self,
        gradients: Sequence[WindowTensor],
        names: Sequence[str],
        updates: _Updates,
        streaks: Streaks,
    ) -> Iterator[Finding]:
        steps, indices = np.unique(updates.steps, return_inverse=True)
        largest = np.zeros(len(steps))
        per_step = updates.ratios / np.clip(
            updates.steps - updates.before, 1, LIMITS.max_shared_steps
        )
        np.maximum.at(largest, indices, per_step)
        is_still = largest < self.small_threshold
        trained_steps = _steps_with_gradients(gradients) if is_still.any() else set()
        for step, holds in zip(steps.tolist(), is_still.tolist(), strict=True):
            streaks.note(_ALL, step, holds=holds and step in trained_steps)
        span = max(LIMITS.span_steps, LIMITS.min_share * int(steps[-1]))
        if streaks.lasting(LIMITS.steps_in_a_row, round(span)):
            still = sorted(
                names[tensor] for tensor in updates.tensors[updates.steps == steps[-1]].tolist()
            )
            yield self._standstill_finding(still, streaks.steps(_ALL), float(largest[-1]), _ALL)

    def _jump_finding(self, name: str, steps: tuple[int, int], ratio: float) -> Finding:
        return self.finding(
            f"{name} changed by {ratio:.3g} times its norm from step {steps[0]} to {steps[1]}.",
            step=steps,
            tensor=name,
            subject=f"{name} jumps",
            evidence={"ratio": ratio, "threshold": self.large_threshold},
        )

    def _standstill_finding(
        self, names: list[str], steps: tuple[int, int], ratio: float, subject: str
    ) -> Finding:
        unit = "" if self.is_classic else " per step"
        return self.finding(
            f"{first_and_count(names)} did not move from step {steps[0]} to {steps[1]}: the update "
            f"is {ratio:.3g} of the norm{unit}.",
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
    return any(
        steps <= max_steps and size >= min_size for max_steps, min_size in LIMITS.jump_limits
    )


def _steps_with_gradients(gradients: Sequence[WindowTensor]) -> set[int]:
    """Return the steps at which any weight has a gradient."""
    steps: set[int] = set()
    for gradient in gradients:
        if gradient.is_matrix:
            sizes = gradient.column("sum_of_absolutes")
            is_nonzero = sizes > LIMITS.min_gradient * gradient.column("count")
            steps.update(gradient.steps[is_nonzero].tolist())
    return steps
