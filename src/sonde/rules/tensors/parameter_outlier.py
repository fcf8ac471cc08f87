"""ParameterOutlier: weights of one matrix jump by orders of magnitude."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.tensor_columns import by_tensor, column_of_all, steps_of_all


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ParameterOutlier.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    jump_factor: float = 100.0  # times the largest magnitude of the matrix before
    all_factor: float = 10.0  # times the largest magnitude of all matrices before
    critical_factor: float = 1e4  # times the larger of both
    few_elements: float = 4.0  # that account for the norm
    calm_factor: float = 3.0  # the largest normal growth between two inspections
    calm_inspections: int = 4  # in a row before the jump
    others_factor: float = 10.0  # growth of other matrices; above it, training explodes
    max_tensors: int = 3  # that jump at once; above it, training explodes
    min_elements: int = 64


LIMITS = Calibration()


class ParameterOutlier(Rule):
    """Weights of a single matrix jump by orders of magnitude between two inspections.

    Why it matters: No optimizer does this. A bit flipped in memory, or a checkpoint or the script
    wrote wrong values; from then on the model computes with them.
    How it decides:
    - The largest magnitude of a weight matrix grows 100 times from one recorded step to the next,
      to 10 times the largest of all matrices before.
    - At most 4 elements account for its norm. Or many do, but the matrix grew at most 3 times at
      each of the 4 inspections before, and no other matrix grows 10 times.
    - Critical at 10,000 times the largest magnitude of all matrices before.
    - Not applied to matrices with fewer than 64 elements, and if more than 3 matrices, or all, jump
      at once.
    What to do: Resume from a checkpoint before that step. Test the memory of that GPU or node.
    Check what is written into the parameter by hand or loaded from a file.
    """

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics("weights"),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        "ExplodingTensor",
        "LossSpike",
        "GradientNormSpike",
        "LossDiverging",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the magnitudes at each recorded step with those at the previous one."""
        tensors = [
            tensor
            for tensor in window.tensors("weights", each_worker=True)
            if _is_large_matrix(tensor)
        ]
        if not tensors:
            return
        steps: list[int] = np.unique(steps_of_all(tensors)).tolist()
        rows = [
            (tensor, dict(magnitude_rows))
            for tensor, magnitude_rows in by_tensor(tensors, _magnitudes(tensors))
        ]
        for step in steps:
            inspections = [
                _Inspection(tensor, step, *magnitudes[step], state.of("largest"))
                for tensor, magnitudes in rows
                if step in magnitudes
            ]
            largest_of_all = max(
                (float(item[0]) for item in state.of("largest").values()), default=0.0
            )
            jumps = [
                inspection for inspection in inspections if inspection.has_jumped(largest_of_all)
            ]
            are_many = len({jump.tensor.name for jump in jumps}) > LIMITS.max_tensors
            are_all = len(jumps) == len(inspections) > 1
            if not (are_many or are_all):
                yield from (
                    self._finding(jump, largest_of_all)
                    for jump in jumps
                    if jump.is_isolated(inspections)
                )
            for inspection in inspections:
                inspection.remember()
            state["looks"] = state.get("looks", 0) + 1

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing; two are needed."""
        count = state.get("looks", 0)
        return "" if count > 1 else Shortfall(count, 2, DataUnit.INSPECTIONS)

    def _finding(self, inspection: "_Inspection", largest_of_all: float) -> Finding:
        tensor, largest, before = inspection.tensor, inspection.largest, inspection.before
        subject = f"{'A weight' if inspection.is_of_few else 'Many weights'} of {tensor.name}"
        is_critical = largest >= LIMITS.critical_factor * max(before, largest_of_all)
        return self.finding(
            f"{subject} on worker {tensor.worker} jumped to {largest:.3g} between steps "
            f"{inspection.since} and {inspection.step}; the largest magnitude was "
            f"{before:.3g} before.",
            severity=Severity.CRITICAL if is_critical else Severity.WARNING,
            step=(inspection.since, inspection.step),
            tensor=tensor.name,
            worker=tensor.worker,
            evidence={
                "largest": largest,
                "before": before,
                "largest_of_all_before": largest_of_all,
                "is_of_few": inspection.is_of_few,
            },
        )


class _Inspection:
    """A weight matrix at one step, compared with its previous inspection."""

    def __init__(
        self, tensor: WindowTensor, step: int, largest: float, squares: float, state: State
    ) -> None:
        self.tensor, self.step, self.largest = tensor, step, largest
        self.key = f"{tensor.name}/{tensor.worker}"
        # whether a few elements of the largest magnitude would account for the norm
        self.is_of_few = squares <= LIMITS.few_elements * largest * largest
        self._stored = state
        self.before, since, self._calm = state.get(self.key, (0.0, 0, 0))
        self.since = int(since)

    @property
    def growth(self) -> float:
        """The ratio of the largest magnitude to the previous one; infinite if that was zero."""
        return self.largest / self.before if self.before > 0 else float("inf")

    def has_jumped(self, largest_of_all: float) -> bool:
        """Whether the matrix grew more than an optimizer can explain."""
        if not (
            self.before > 0
            and self.growth >= LIMITS.jump_factor
            and self.largest >= LIMITS.all_factor * largest_of_all
        ):
            return False
        return self.is_of_few or self._calm >= LIMITS.calm_inspections

    def is_isolated(self, inspections: "Sequence[_Inspection]") -> bool:
        """Whether only a few elements jumped, or no other matrix of the worker grew much."""
        worker = self.tensor.worker
        others = [
            inspection
            for inspection in inspections
            if inspection is not self and inspection.tensor.worker == worker
        ]
        return self.is_of_few or (
            bool(others) and all(other.growth < LIMITS.others_factor for other in others)
        )

    def remember(self) -> None:
        """Store the magnitude for the next inspection."""
        is_calm = 1 / LIMITS.calm_factor <= self.growth <= LIMITS.calm_factor
        self._stored[self.key] = [self.largest, self.step, self._calm + 1 if is_calm else 0]


def _is_large_matrix(tensor: WindowTensor) -> bool:
    return tensor.is_matrix and bool(tensor.rows.columns["count"][0] >= LIMITS.min_elements)


def _magnitudes(
    tensors: Sequence[WindowTensor],
) -> list[tuple[int, tuple[float, float]]]:
    """Return step, largest magnitude and sum of squares of all rows, tensor by tensor."""
    lows, highs = column_of_all(tensors, "minimum"), column_of_all(tensors, "maximum")
    largest = np.maximum(highs, -lows).tolist()
    squares = column_of_all(tensors, "sum_of_squares").tolist()
    values = zip(largest, squares, strict=True)
    return list(zip(steps_of_all(tensors).tolist(), values, strict=True))
