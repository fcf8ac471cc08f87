"""The first divergence of two runs: the first step and value that differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.differences import differs
from sonde.formats import pluralize
from sonde.results.run_record import RunRecord, Series

# Statistics are computed in single precision; their last digits depend on the number of threads.
_TOLERANCE = 1e-5
# What comes first in a step. A difference in a later kind follows from one in an earlier kind.
_ORDER = ("learning_rate", "inputs", "labels", "weights", "biases", "outputs", "losses")
_OTHER = len(_ORDER)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference of two runs, of the values that both recorded."""

    step: int
    name: str  # a scalar or tensor
    statistic: str  # of the tensor; empty for a scalar
    first: float
    second: float
    last_equal_step: int | None  # of the same value; None if it differs from the start
    others: int  # other values that differ at this step
    compared: int  # values that both runs recorded

    def sentence(self, first: str, second: str) -> str:
        """Say where the runs diverge.

        Args:
            first: The name of one run.
            second: The name of the other one.
        """
        what = f"{self.statistic} of {self.name}" if self.statistic else self.name
        text = (
            f"{first} and {second} diverge at step {self.step}: {what} is {self.first:.6g} and "
            f"{self.second:.6g}"
        )
        if self.others:
            verb = "differs" if self.others == 1 else "differ"
            text += f" (and {pluralize(self.others, 'other value')} {verb})"
        if self.last_equal_step is None:
            return f"{text}. It differs since it was first recorded."
        return f"{text}. It is equal up to step {self.last_equal_step}."


@dataclass(frozen=True, slots=True)
class Equality:
    """Two runs without a difference in what both recorded."""

    compared: int  # values that both runs recorded
    last_step: int | None  # the last step that both recorded; None if they share no step

    def sentence(self, first: str, second: str) -> str:
        """Say how long the runs are equal."""
        if self.last_step is None:
            return f"{first} and {second} have no values recorded at the same steps."
        values = pluralize(self.compared, "recorded value")
        return f"{first} and {second} are equal up to step {self.last_step} ({values} compared)."


def find_divergence(first: RunRecord, second: RunRecord) -> Divergence | Equality:
    """Find the first recorded value in which two runs differ."""
    found: list[tuple[tuple[int, int], Divergence]] = []
    compared, last_step = 0, None
    for (name, statistic), pair in _shared(first, second):
        steps, values, other_values = _common(*pair)
        if not len(steps):
            continue
        compared += 1
        last_step = max(last_step or 0, int(steps[-1]))
        indices = np.flatnonzero(differs(values, other_values, _TOLERANCE))
        if len(indices):
            at = int(indices[0])
            divergence = Divergence(
                step=int(steps[at]),
                name=name,
                statistic=statistic,
                first=float(values[at]),
                second=float(other_values[at]),
                last_equal_step=int(steps[at - 1]) if at else None,
                others=0,
                compared=0,
            )
            found.append(((divergence.step, _rank(name, first)), divergence))
    if not found:
        return Equality(compared, last_step)
    _, earliest = min(found, key=lambda each: each[0])
    others = {each.name for _, each in found if each.step == earliest.step} - {earliest.name}
    return Divergence(
        earliest.step,
        earliest.name,
        earliest.statistic,
        earliest.first,
        earliest.second,
        earliest.last_equal_step,
        len(others),
        compared,
    )


def _shared(
    first: RunRecord, second: RunRecord
) -> Iterator[tuple[tuple[str, str], tuple[Series, Series]]]:
    """The scalars and statistics of tensors that both runs recorded."""
    for name, series in first.scalars.items():
        if name in second.scalars:
            yield (name, ""), (series, second.scalars[name])
    for name, statistics in first.tensors.items():
        for statistic, series in statistics.items():
            other = second.tensors.get(name, {}).get(statistic)
            if other is not None:
                yield (name, statistic), (series, other)


def _common(first: Series, second: Series) -> Sequence[np.ndarray]:
    steps, firsts, seconds = np.intersect1d(
        first.steps, second.steps, assume_unique=True, return_indices=True
    )
    return steps, first.values[firsts], second.values[seconds]


def _rank(name: str, run: RunRecord) -> int:
    """The position of a value in a step, by its kind."""
    kinds = (*run.collections.get(name, ()), name.partition("/")[0])
    kinds = (*kinds, "losses") if name.partition("/")[0] == "loss" else kinds
    return min((_ORDER.index(kind) for kind in kinds if kind in _ORDER), default=_OTHER)
