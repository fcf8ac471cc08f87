"""WeightUpdateRatio: weights that jump, or do not move."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import Marks
from sonde.analyze.updates import COLUMNS, least_updates
from sonde.read.job_data import Reals
from sonde.read.window import Window, WindowTensor
from sonde.read.workers import Numbers
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import and_more
from sonde.rules.tensors._pace import Pace
from sonde.rules.tensors._streaks import Streaks
from sonde.rules.tensors._together import by_tensor, column_of_all, steps_of_all

_COLLECTION = "weights"
_USUAL = 1e-2  # the root mean square: what is no jump of such weights is none of smaller ones
# A jump is what happens between two looks that are so many steps apart, to weights whose root mean
# square was at least so large: layers that begin at (nearly) nought grow by any factor, in time.
_JUMPS = ((3, 1e-4), (100, _USUAL))
_FEW = 16  # elements: single numbers may go anywhere
_IN_A_ROW = 3  # recorded steps without movement
_SPAN = 50  # steps: longer than the end of a schedule that falls to nought
_MOST_STEPS = 100  # that share a change: what goes to and fro adds up to less than its updates
_OF_ALL = 0.25  # steps so far: a schedule may end a little before the job does
_LEAST_GRADIENT = 1e-12  # the mean magnitude: below it there is nothing to follow
_EVERY = "every weight"
_NAMED = 8


@dataclass(frozen=True)
class _Moves:
    """How far weights have moved between two looks: of one tensor after the other."""

    tensors: Numbers  # which one, by its place among them
    before: Numbers  # the first step
    steps: Numbers  # the second
    ratios: Reals
    sizes: Reals  # the root mean squares before; nought of a few numbers

    def take(self, which: Marks) -> "_Moves":
        """Some of them."""
        return _Moves(
            self.tensors[which],
            self.before[which],
            self.steps[which],
            self.ratios[which],
            self.sizes[which],
        )

    def at(self, place: int) -> tuple[int, tuple[int, int], float]:
        """One of them: its tensor, its steps, its ratio."""
        steps = (int(self.before[place]), int(self.steps[place]))
        return int(self.tensors[place]), steps, float(self.ratios[place])


class WeightUpdateRatio(Rule):
    """The updates of weights are far too large, or nothing, against the weights themselves.

    Why it matters: large updates throw away what was learned, tiny ones learn nothing.
    How it decides: from the statistics of weights at one recorded step and the one before (or
    num_steps recorded steps before): the change of their norm, sum, magnitudes and extremes, of
    which the largest is a lower bound for the norm of the update. Classic fires wherever its ratio
    to the weights' norm is above large_threshold or below small_threshold. Calibrated takes as a
    jump what happens within a hundred steps to weights of usual size (0.01), or within three to
    smaller ones, if it is as large against that size (later, if recorded steps are few, within 400:
    where they grow 20 times as fast as ever before), and as standstill only that of all weights
    together, with a ratio per step (of up to 100 steps between two records) below small_threshold
    over three recorded steps, 50 steps and a quarter of all steps in a row, with gradients.
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
        gradients = () if self.is_classic else window.tensors("gradients")
        if not tensors:
            return
        moves = self._moves(tensors, state.of("rows"))
        names = [one.name for one in tensors]
        if self.is_classic:
            for place in range(len(moves.steps)):
                which, steps, ratio = moves.at(place)
                yield from self._classic(names[which], steps, ratio)
            return
        moves = moves.take(np.array([one.is_matrix for one in tensors])[moves.tensors])
        yield from self._jumps(tensors, moves, Pace(state.of("pace")))
        if len(moves.steps):
            yield from self._standstill(gradients, names, moves, Streaks(state))

    def lacks(self, state: State) -> str | Shortfall:
        """A second look at a weight."""
        is_compared = any(len(one) > 1 for one in state.of("rows").values())
        return "" if is_compared else Shortfall(1, 2, DataUnit.INSPECTIONS)

    def _moves(self, tensors: Sequence[WindowTensor], kept: State) -> _Moves:
        """Compares rows with those before, of all tensors at once."""
        back = self.num_steps or 1
        columns = [steps_of_all(tensors), *(column_of_all(tensors, name) for name in COLUMNS)]
        joined: list[list[float]] = []  # of each tensor the rows before, then the new ones
        counts = []
        for tensor, own in by_tensor(tensors, np.stack(columns, axis=1).tolist()):
            known = kept.get(tensor.name, [])
            joined += [*known[-back:], *own]
            counts.append(len(known[-back:]) + len(own))
            kept[tensor.name] = [*known, *own][-back - 1 :]
        rows, places = np.array(joined), np.repeat(np.arange(len(tensors)), counts)
        firsts = np.flatnonzero(places[back:] == places[:-back])
        before, after = rows[firsts], rows[firsts + back]
        with np.errstate(all="ignore"):  # what is no number is left out
            norms = np.sqrt(before[:, 2])
            ratios = least_updates(before[:, 1:], after[:, 1:]) / (norms + self.epsilon)
            sizes = np.where(before[:, 1] >= _FEW, norms / np.sqrt(before[:, 1]), 0.0)
        steps = (before[:, 0].astype(np.int64), after[:, 0].astype(np.int64))
        return _Moves(places[firsts], *steps, ratios, sizes).take(np.isfinite(ratios))

    def _classic(self, name: str, steps: tuple[int, int], ratio: float) -> Iterator[Finding]:
        if ratio > self.large_threshold:
            yield self._jump(name, steps, ratio)
        elif ratio < self.small_threshold:
            yield self._still([name], steps, ratio, name)

    def _jumps(
        self, tensors: Sequence[WindowTensor], moves: _Moves, pace: Pace
    ) -> Iterator[Finding]:
        found: dict[int, tuple[tuple[int, int], float]] = {}
        against_usual = moves.ratios * np.minimum(moves.sizes / _USUAL, 1.0)
        for place in np.flatnonzero(against_usual > self.large_threshold).tolist():
            which, steps, ratio = moves.at(place)
            if _is_jump(steps[1] - steps[0], float(moves.sizes[place])):
                found.setdefault(which, (steps, ratio))
        for which, steps, ratio in pace.leaps(tensors, self.large_threshold):
            if tensors[which].is_matrix:
                found.setdefault(which, (steps, ratio))
        for which, (steps, ratio) in found.items():
            yield self._jump(tensors[which].name, steps, ratio)

    def _standstill(
        self,
        gradients: Sequence[WindowTensor],
        names: Sequence[str],
        moves: _Moves,
        streaks: Streaks,
    ) -> Iterator[Finding]:
        steps, places = np.unique(moves.steps, return_inverse=True)
        largest = np.zeros(len(steps))
        per_step = moves.ratios / np.clip(moves.steps - moves.before, 1, _MOST_STEPS)
        np.maximum.at(largest, places, per_step)
        is_still = largest < self.small_threshold
        fed = _fed(gradients) if is_still.any() else set()
        for step, holds in zip(steps.tolist(), is_still.tolist(), strict=True):
            streaks.note(_EVERY, step, holds=holds and step in fed)
        span = max(_SPAN, _OF_ALL * int(steps[-1]))
        if streaks.lasting(_IN_A_ROW, round(span)):
            still = sorted(names[one] for one in moves.tensors[moves.steps == steps[-1]].tolist())
            yield self._still(still, streaks.steps(_EVERY), float(largest[-1]), _EVERY)

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
        each = "" if self.is_classic else " per step"
        return self.finding(
            f"{and_more(names)} did not move from step {steps[0]} to {steps[1]}: the update is "
            f"{ratio:.3g} of its size{each}.",
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


def _fed(gradients: Sequence[WindowTensor]) -> set[int]:
    """The steps at which any weight has got a gradient."""
    found: set[int] = set()
    for one in gradients:
        if one.is_matrix:
            has_some = one.column("sum_of_absolutes") > _LEAST_GRADIENT * one.column("count")
            found.update(one.steps[has_some].tolist())
    return found
