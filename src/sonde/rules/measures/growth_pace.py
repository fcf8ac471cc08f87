"""How fast tensors grow from window to window, to detect growth much faster than before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.read.window import WindowTensor
from sonde.rules._rule import State
from sonde.rules.measures.tensor_columns import column_of_all, steps_of_all

# index of the tensor, first and last step, and growth relative to the earlier size
SuddenGrowth = tuple[int, tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for sudden growth.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_windows: int = 3  # for the fastest growth so far
    min_steps: int = 100  # early training changes quickly
    max_steps_between: int = 400  # between two inspections
    min_rms: float = 1e-2  # smaller weights may grow by any factor
    min_elements: int = 16  # single elements may take any value
    pace_factor: float = 20.0  # of the fastest growth so far


LIMITS = Calibration()


class GrowthTracker:
    """Tracks the latest size (root mean square) and the fastest change of each tensor."""

    def __init__(self, state: State) -> None:
        self._state = state

    def sudden_growth(
        self, tensors: Sequence[WindowTensor], factor: float
    ) -> Iterator[SuddenGrowth]:
        """Yield tensors that have grown by `factor` times their size, faster than ever before."""
        counts = np.array([len(tensor.rows.steps) for tensor in tensors], dtype=np.int64)
        ends = np.cumsum(counts, dtype=np.int64)
        elements = column_of_all(tensors, "count")
        sizes = np.sqrt(column_of_all(tensors, "sum_of_squares") / np.maximum(elements, 1.0))
        steps = steps_of_all(tensors)[ends - 1]
        names = [tensor.name for tensor in tensors]
        if self._state.get("names") == names:
            before, sizes_before, fastest = (
                np.array(self._state[key]) for key in ("steps", "sizes", "fastest")
            )
            step_counts = np.maximum(steps - before, 1)
            grown = np.maximum.reduceat(sizes, ends - counts) - sizes_before
            if self._state["windows"] >= LIMITS.min_windows:
                is_sudden = (grown > factor * sizes_before) & (sizes_before >= LIMITS.min_rms)
                is_sudden &= grown > LIMITS.pace_factor * fastest * step_counts
                is_sudden &= (before >= LIMITS.min_steps) & (
                    step_counts <= LIMITS.max_steps_between
                )
                is_sudden &= elements[ends - 1] >= LIMITS.min_elements
                for index in np.flatnonzero(is_sudden).tolist():
                    step_range = (int(before[index]), int(steps[index]))
                    yield index, step_range, float(grown[index] / sizes_before[index])
            change = np.abs(sizes[ends - 1] - sizes_before) / step_counts
            fastest = np.fmax(fastest, np.maximum(change, grown / step_counts))
            windows = self._state["windows"] + 1
        else:
            fastest, windows = np.zeros(len(names)), 0
        self._state |= {
            "names": names,
            "steps": steps.tolist(),
            "sizes": sizes[ends - 1].tolist(),
            "fastest": fastest.tolist(),
            "windows": windows,
        }
