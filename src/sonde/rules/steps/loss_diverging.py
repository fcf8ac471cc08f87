"""LossDiverging: the loss leaves its range for good."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import Reals, middle_of, quantile_of
from sonde.read.window import Curve, Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import BEGINNINGS, SIZES, begin_leg, loss_changed, only_loss

_LEAST = 20  # losses in a window
_BEST_TIMES = 10.0  # a training that has come near zero may go up by that and has lost nothing
_LAST_NUMBERS = 5  # before a loss is none: how high they went
_STILL_HIGH = 0.5  # of its level half a window before: else it is on its way back
_LEARNED = 0.7  # of the untrained loss: it had begun to learn
_LOST = 1.5  # times the untrained loss: worse than knowing nothing
_LOST_WINDOWS = 4
_SHARE = 0.1  # of the losses that may lie below
_DEEP_WINDOWS = 6
_DEEP = 100.0  # times the untrained level, below zero: no density goes there
_DEEP_AND_FASTER = 10.0  # the same, where every window falls further than the one before
_ONE_NAT = 1.0  # the least level: some losses begin at zero by chance
_UNBRAKED = 0.9  # of the fall before: a loss that has a floor comes to it slower and slower
_UP = 3.0  # times the untrained loss, of a training that has learned nothing
_FATAL = 1000.0  # times the untrained loss
_MIRRORED_WINDOWS = 3
_MIRROR = 1.5  # times the first evaluation, where it is the training loss with the other sign,
_GROWN = 3.0  # and where it only grows
_OF_A_TRAINING = (
    *("untrained", "best", "lost", "middles", "scale", "bottomless", "highest", "gone"),
    "evaluated",
)


class LossDiverging(Rule):
    """The loss leaves its range for good, upwards or downwards without end.

    Why it matters: the model gets worse with every step, and soon its numbers overflow.
    How it decides: compared with the initial loss, all losses of 50 steps exceed `times` as much,
    or are NaN after that; or it had fallen by 30% and stays above 1.5 times for 200 steps; or it
    never fell and rises for 350 steps to 3 times; or it falls below zero at full speed to -100
    times (-10 times if ever faster), or for 150 steps while the evaluation loss triples. A new
    optimizer, loss function or input size starts over; not applied to reinforcement learning and to
    losses that take turns.
    What to do: lower the learning rate or warm it up, clip gradients, go back to a checkpoint. A
    loss that falls without end has the wrong sign, or nothing that holds it.
    """

    times: Positive = 30.0

    needs = (Losses(), *BEGINNINGS, SIZES)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = (
        *("LossSpike", "GradientNormSpike", "ExplodingTensor", "LossNotDecreasing"),
        *("Overfit", "Overtraining", "ClipSaturation"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the loss with that of the untrained model."""
        begin_leg(window, state)
        began = loss_changed(window, state)
        loss = only_loss(window, state, "its loss may rise as it learns")
        if loss is not None:
            _note_evaluations(window, state)
            yield from self._judge(_of_one_training(loss, began, state), state)

    def unfit(self, state: State) -> str:
        """Losses that may go anywhere."""
        return str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """How many losses are missing."""
        seen = state.get("seen", 0)
        return "" if seen >= _LEAST else Shortfall(seen, _LEAST, DataUnit.STEPS)

    def _judge(self, curve: Curve, state: State) -> Iterator[Finding]:
        values = curve.values[np.isfinite(curve.values)]
        state["seen"] = state.get("seen", 0) + len(values)
        if len(values):
            state.setdefault("untrained", float(values[0]))
        if self._overflowed(curve, state):
            yield self._found(curve, "has exploded beyond all numbers", state["highest"], state)
            return
        if len(values) < _LEAST:
            return
        ordered = np.sort(values)
        low, middle = quantile_of(ordered, _SHARE), quantile_of(ordered, 0.5)
        said = self._exploded(values, state) or _lost(low, state)
        said = said or _bottomless(middle, state) or _uphill(middle, state)
        said = said or _mirrored(middle, state)
        state["best"] = min(state.get("best", middle), middle)
        if said:
            yield self._found(curve, said, middle, state)

    def _overflowed(self, curve: Curve, state: State) -> bool:
        """Whether it rose far above all it had been, and is no number since then."""
        finite = np.flatnonzero(np.isfinite(curve.values))
        after = len(curve.values) - (int(finite[-1]) + 1 if len(finite) else 0)
        state["gone"] = after + (0 if len(finite) else state.get("gone", 0))
        if len(finite):
            state["highest"] = float(curve.values[finite[-_LAST_NUMBERS:]].max())
        if "untrained" not in state or state["gone"] < _LEAST:
            return False
        reference = max(state["untrained"], _BEST_TIMES * state.get("best", 0.0))
        return bool(reference > 0 and state["highest"] > self.times * reference)

    def _exploded(self, values: Reals, state: State) -> str:
        reference = max(state["untrained"], _BEST_TIMES * state.get("best", 0.0))
        if reference <= 0 or float(values.min()) <= self.times * reference:
            return ""
        half = len(values) // 2
        before, after = middle_of(values[:half]), middle_of(values[half:])
        return "has exploded" if after > _STILL_HIGH * before else ""

    def _found(self, curve: Curve, said: str, now: float, state: State) -> Finding:
        untrained = float(state["untrained"])
        best = min(state.get("best", untrained), untrained)
        is_fatal = abs(now) > _FATAL * max(abs(untrained), 1e-9)
        return self.finding(
            f"{curve.name} {said}: it began at {untrained:.4g}, its best was "
            f"{best:.4g}, and {'it went to' if state['gone'] else 'now it is'} {now:.4g}.",
            severity=Severity.CRITICAL if is_fatal else Severity.WARNING,
            step=(int(curve.steps[0]), int(curve.steps[-1])),
            subject=curve.name,
            evidence={"untrained": untrained, "best": best, "now": now},
        )


def _of_one_training(curve: Curve, began: int | None, state: State) -> Curve:
    """Forgets what was before another optimizer, if the loss jumps with its first step."""
    place = len(curve) if began is None else int(np.searchsorted(curve.steps, began))
    earlier = [*state.get("middles", [])[-1:], *curve.values[:place].tolist()][-_LAST_NUMBERS:]
    if place == len(curve) or int(curve.steps[place]) != began or not earlier:
        return curve
    before, after = middle_of(earlier), middle_of(curve.values[place : place + _LAST_NUMBERS])
    untrained = state.get("untrained", float(curve.values[0]))
    if not (0 < before <= untrained and after > _LOST * before):
        return curve  # the same goes on, or what had gone wrong before
    for key in _OF_A_TRAINING:
        state.pop(key, None)
    rows = (curve.steps[place:], curve.times_ns[place:], curve.values[place:])
    return Curve(curve.name, curve.mode, *rows)


def _lost(low: float, state: State) -> str:
    """Whether all that was learned is lost, window after window."""
    untrained = state["untrained"]
    has_learned = 0 < state.get("best", untrained) < _LEARNED * untrained
    state["lost"] = state.get("lost", 0) + 1 if has_learned and low > _LOST * untrained else 0
    return "is worse than untrained" if state["lost"] >= _LOST_WINDOWS else ""


def _bottomless(middle: float, state: State) -> str:
    """Whether it falls below zero as fast as ever."""
    state["middles"] = [*state.get("middles", []), middle][-_DEEP_WINDOWS - 1 :]
    state.setdefault("scale", max(abs(state["untrained"]), abs(middle), _ONE_NAT))
    falls = -np.diff(np.array(state["middles"]))
    is_faster = state.get("bottomless", False) or bool((np.diff(falls) > 0).all())
    deep = (_DEEP_AND_FASTER if is_faster else _DEEP) * state["scale"]
    if len(falls) < _DEEP_WINDOWS or middle > -deep:
        return ""
    earlier, later = float(falls[: len(falls) // 2].sum()), float(falls[len(falls) // 2 :].sum())
    is_falling = bool((falls > 0).all()) and later >= _UNBRAKED * earlier
    state["bottomless"] = is_falling
    return "falls without end" if is_falling else ""


def _uphill(middle: float, state: State) -> str:
    """Whether it has learned nothing and rises as fast as ever: a wrong sign, mostly."""
    rises = np.diff(np.array(state["middles"]))
    untrained = state["untrained"]
    has_learned = state.get("best", middle) < _LEARNED * untrained
    if has_learned or len(rises) < _DEEP_WINDOWS or not middle > _UP * untrained > 0:
        return ""
    half = len(rises) // 2
    is_rising = bool((rises > 0).all())
    is_unbraked = float(rises[half:].sum()) >= _UNBRAKED * float(rises[:half].sum())
    return "rises without end" if is_rising and is_unbraked else ""


def _note_evaluations(window: Window, state: State) -> None:
    """Remembers the first and the last mean of each evaluation loss."""
    known = state.of("evaluated")
    for curve in window.losses(Mode.EVAL.value):
        values = curve.values[np.isfinite(curve.values)]
        if len(values):
            mean = float(values.mean())
            first, _, seen = known.get(curve.name, (mean, mean, 0))
            known[curve.name] = [first, mean, seen + 1]


def _mirrored(middle: float, state: State) -> str:
    """Whether the loss falls below zero while evaluations get worse: it has the wrong sign."""
    falls = -np.diff(np.array(state["middles"][-_MIRRORED_WINDOWS - 1 :]))
    if middle >= 0 or len(falls) < _MIRRORED_WINDOWS or not (falls > 0).all():
        return ""
    for first, last, seen in state.of("evaluated").values():
        is_mirror = 0.5 <= last / -middle <= 2
        least = (_MIRROR if is_mirror else _GROWN) * first
        if seen >= _MIRRORED_WINDOWS and last > least > 0:
            return f"falls below zero while the evaluation loss grows, {first:.4g} to {last:.4g}"
    return ""
