"""ParameterOutlier: single weights jump by orders of magnitude."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._together import by_tensor, column_of_all, steps_of_all

_JUMP = 100.0  # times the largest weight of the tensor before
_OF_ALL = 10.0  # times the largest weight of all before: one that begins near zero may grow
_SURELY = 1e4  # times both: no optimizer does that
_FEW = 4.0  # weights that hold the whole norm
_CALM = 3.0  # times at most from one look to the next: nothing is under way
_CALM_LOOKS = 4
_OTHERS = 10.0  # times at most, of other matrices: else the training explodes
_MOST_TENSORS = 3  # if more jump at once, or all, the training explodes
_SMALLEST = 64  # elements: of a few numbers each may be large


class ParameterOutlier(Rule):
    """Single weights, or those of one matrix, jump by orders of magnitude between two looks.

    Why it matters: no optimizer does that. A bit has flipped in memory, or a checkpoint or a hand
    has put wrong values there; from then on the model computes with them.
    How it decides: the largest magnitude of a weight matrix grows at least a hundredfold from one
    recorded step to the next, to ten times the largest of all matrices before. That is said where
    at most 4 elements hold all of its norm; and of many elements, where the matrix was calm at
    4 looks before, growing threefold at most, and no other matrix grows tenfold meanwhile. Where
    more than 3 matrices or all of them jump at once the training itself explodes: that is another
    rule's.
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
            looks = [
                _Look(tensor, step, *magnitudes[step], state.of("largest"))
                for tensor, magnitudes in rows
                if step in magnitudes
            ]
            of_all = max((float(one[0]) for one in state.of("largest").values()), default=0.0)
            found = [one for one in looks if one.has_jumped(of_all)]
            are_many = len({one.tensor.name for one in found}) > _MOST_TENSORS
            are_all = len(found) == len(looks) > 1
            if not (are_many or are_all):
                yield from (self._found(one, of_all) for one in found if one.is_alone(looks))
            for one in looks:
                one.remember()
            state["looks"] = state.get("looks", 0) + 1

    def lacks(self, state: State) -> str | Shortfall:
        """That two looks are needed."""
        seen = state.get("looks", 0)
        return "" if seen > 1 else Shortfall(seen, 2, DataUnit.INSPECTIONS)

    def _found(self, look: "_Look", of_all: float) -> Finding:
        tensor, largest, before = look.tensor, look.largest, look.before
        who = f"{'A weight' if look.is_of_few else 'Many weights'} of {tensor.name}"
        is_sure = largest >= _SURELY * max(before, of_all)
        return self.finding(
            f"{who} on worker {tensor.worker} jumped to {largest:.3g} between steps {look.since} "
            f"and {look.step}; the largest was {before:.3g} before.",
            severity=Severity.CRITICAL if is_sure else Severity.WARNING,
            step=(look.since, look.step),
            tensor=tensor.name,
            worker=tensor.worker,
            evidence={
                "largest": largest,
                "before": before,
                "largest_of_all_before": of_all,
                "is_of_few": look.is_of_few,
            },
        )


class _Look:
    """One matrix at one step, and what is known of it from before."""

    def __init__(
        self, tensor: WindowTensor, step: int, largest: float, squares: float, known: State
    ) -> None:
        self.tensor, self.step, self.largest = tensor, step, largest
        self.key = f"{tensor.name}/{tensor.worker}"
        # how many elements of that size would give the norm
        self.is_of_few = squares <= _FEW * largest * largest
        self._known = known
        self.before, since, self._calm = known.get(self.key, (0.0, 0, 0))
        self.since = int(since)

    @property
    def growth(self) -> float:
        """How many times the largest before; endless where nothing was before."""
        return self.largest / self.before if self.before > 0 else float("inf")

    def has_jumped(self, of_all: float) -> bool:
        """Whether no optimizer does that to one matrix."""
        if not (self.before > 0 and self.growth >= _JUMP and self.largest >= _OF_ALL * of_all):
            return False
        return self.is_of_few or self._calm >= _CALM_LOOKS

    def is_alone(self, looks: "Sequence[_Look]") -> bool:
        """Whether others of the same worker stay as they are, where many weights have jumped."""
        own = self.tensor.worker
        others = [one for one in looks if one is not self and one.tensor.worker == own]
        return self.is_of_few or (bool(others) and all(one.growth < _OTHERS for one in others))

    def remember(self) -> None:
        """For the next look."""
        is_calm = 1 / _CALM <= self.growth <= _CALM
        self._known[self.key] = [self.largest, self.step, self._calm + 1 if is_calm else 0]


def _is_fit(tensor: WindowTensor) -> bool:
    return tensor.is_matrix and bool(tensor.rows.columns["count"][0] >= _SMALLEST)


def _magnitudes(
    tensors: Sequence[WindowTensor],
) -> list[tuple[int, tuple[float, float]]]:
    """By step the largest magnitude and the sum of squares, of one tensor after the other."""
    lows, highs = column_of_all(tensors, "minimum"), column_of_all(tensors, "maximum")
    largest = np.maximum(highs, -lows).tolist()
    squares = column_of_all(tensors, "sum_of_squares").tolist()
    values = zip(largest, squares, strict=True)
    return list(zip(steps_of_all(tensors).tolist(), values, strict=True))
