"""ParameterOutlier: single weights jump by orders of magnitude."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Statistics
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._together import by_tensor, column_of_all, steps_of_all

_JUMP = 100.0  # times the largest weight of the tensor before
_OF_ALL = 10.0  # times the largest weight of all before: one that begins near zero may grow
_SURELY = 1e4  # times both: no optimizer does that
_FEW = 4.0  # weights that hold the whole norm
_MOST_TENSORS = 3  # if more jump at once, the training explodes
_SMALLEST = 64  # elements: of a few numbers each may be large


class ParameterOutlier(Rule):
    """Single weights jump by orders of magnitude between two looks.

    Why it matters: no optimizer does that. A bit has flipped in memory, or a checkpoint or a hand
    has put a wrong value there; from then on the model computes with it.
    How it decides: the largest magnitude of a weight matrix grows at least a hundredfold from one
    recorded step to the next, to ten times the largest of all matrices before, and so few elements
    hold all of its norm. Where more than 3 matrices jump at once the training itself explodes:
    that is another rule's.
    What to do: resume from a checkpoint before that step; test the memory of that GPU or node; look
    at what is written into the parameter by hand or loaded from a file.
    """

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
        """Compares each recorded step with the one before."""
        tensors = [one for one in window.tensors("weights", each_worker=True) if _is_fit(one)]
        if not tensors:
            return
        steps: list[int] = np.unique(steps_of_all(tensors)).tolist()
        rows = [(one, dict(own)) for one, own in by_tensor(tensors, _magnitudes(tensors))]
        for step in steps:
            before = state.of("largest")
            of_all = max((float(value[0]) for value in before.values()), default=0.0)
            found = []
            for tensor, magnitudes in rows:
                if step not in magnitudes:
                    continue
                key = f"{tensor.name}/{tensor.worker}"
                largest, squares = magnitudes[step]
                if key in before and _is_jump(largest, squares, float(before[key][0]), of_all):
                    found.append((tensor, step, largest, *before[key], of_all))
                before[key] = [largest, step]
            if len({one[0].name for one in found}) <= _MOST_TENSORS:
                yield from (self._found(*one) for one in found)
            state["looks"] = state.get("looks", 0) + 1

    def lacks(self, state: State) -> str:
        """That two looks are needed."""
        seen = state.get("looks", 0)
        return "" if seen > 1 else f"weights were recorded at {seen} steps; it needs 2"

    def _found(
        self,
        tensor: WindowTensor,
        step: int,
        largest: float,
        *known: float,
    ) -> Finding:
        before, since, of_all = known
        is_sure = largest >= _SURELY * max(before, of_all)
        return self.finding(
            f"A weight of {tensor.name} on worker {tensor.worker} jumped to {largest:.3g} between "
            f"steps {since:.0f} and {step}; the largest was {before:.3g} before.",
            severity=Severity.CRITICAL if is_sure else Severity.WARNING,
            step=(int(since), step),
            tensor=tensor.name,
            worker=tensor.worker,
            evidence={"largest": largest, "before": before, "largest_of_all_before": of_all},
        )


def _is_fit(tensor: WindowTensor) -> bool:
    return tensor.is_matrix and bool(tensor.rows.columns["count"][0] >= _SMALLEST)


def _is_jump(largest: float, squares: float, before: float, of_all: float) -> bool:
    if not (largest >= _JUMP * before > 0 and largest >= _OF_ALL * of_all):
        return False
    # how many elements of that size would give the norm
    return squares / (largest * largest) <= _FEW


def _magnitudes(
    tensors: Sequence[WindowTensor],
) -> list[tuple[int, tuple[float, float]]]:
    """By step the largest magnitude and the sum of squares, of one tensor after the other."""
    lows, highs = column_of_all(tensors, "minimum"), column_of_all(tensors, "maximum")
    largest = np.maximum(highs, -lows).tolist()
    squares = column_of_all(tensors, "sum_of_squares").tolist()
    values = zip(largest, squares, strict=True)
    return list(zip(steps_of_all(tensors).tolist(), values, strict=True))
