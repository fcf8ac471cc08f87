"""How fast tensors grow from window to window: what is usual, and what is faster than ever."""

from collections.abc import Iterator, Sequence

import numpy as np

from sonde.read.window import WindowTensor
from sonde.rules._rule import State
from sonde.rules.tensors._together import column_of_all, steps_of_all

_LEAST_WINDOWS = 3  # that tell how fast it was
_LEAST_STEPS = 100  # before: at the beginning everything is new
_MOST_APART = 400  # steps
_LEAST_SIZE = 1e-2  # the root mean square: what is nearly nought grows by any factor
_FEW = 16  # elements: single numbers may go anywhere
_TIMES_FASTER = 20.0  # than ever before

Leap = tuple[int, tuple[int, int], float]  # which tensor, between which steps, by how many sizes


class Pace:
    """The last sizes of all tensors, and the fastest change of each."""

    def __init__(self, state: State) -> None:
        self._state = state

    def leaps(self, tensors: Sequence[WindowTensor], times: float) -> Iterator[Leap]:
        """Tensors that have grown by so many times their size, much faster than ever before."""
        counts = np.array([len(one.rows.steps) for one in tensors], dtype=np.int64)
        ends = np.cumsum(counts, dtype=np.int64)
        elements = column_of_all(tensors, "count")
        sizes = np.sqrt(column_of_all(tensors, "sum_of_squares") / np.maximum(elements, 1.0))
        steps = steps_of_all(tensors)[ends - 1]
        names = [one.name for one in tensors]
        if self._state.get("names") == names:
            before, sizes_before, fastest = (
                np.array(self._state[key]) for key in ("steps", "sizes", "fastest")
            )
            apart = np.maximum(steps - before, 1)
            grown = np.maximum.reduceat(sizes, ends - counts) - sizes_before
            if self._state["windows"] >= _LEAST_WINDOWS:
                is_leap = (grown > times * sizes_before) & (sizes_before >= _LEAST_SIZE)
                is_leap &= grown > _TIMES_FASTER * fastest * apart
                is_leap &= (before >= _LEAST_STEPS) & (apart <= _MOST_APART)
                is_leap &= elements[ends - 1] >= _FEW
                for place in np.flatnonzero(is_leap).tolist():
                    between = (int(before[place]), int(steps[place]))
                    yield place, between, float(grown[place] / sizes_before[place])
            change = np.abs(sizes[ends - 1] - sizes_before) / apart
            fastest = np.fmax(fastest, np.maximum(change, grown / apart))
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
