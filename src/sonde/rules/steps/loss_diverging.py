"""LossDiverging: the loss leaves its range for good."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of, quantile_of
from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.records.arrays import FloatArray
from sonde.records.finding import Finding, Severity
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import (
    INPUT_SIZES,
    RESTARTS,
    begin_attempt,
    latest_loss_change,
    single_loss,
)

_OF_A_TRAINING = (
    *("untrained", "best", "lost", "middles", "scale", "bottomless", "highest", "gone"),
    "evaluated",
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LossDiverging.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_losses: int = 20  # per window
    best_factor: float = 10.0  # a loss near zero may rise that much without harm
    last_finite: int = 5  # losses before NaN whose maximum is reported
    still_high_share: float = 0.5  # of its level half a window before; less is recovering
    learned_share: float = 0.7  # of the initial loss: it had started to learn
    lost_factor: float = 1.5  # of the initial loss
    lost_windows: int = 4
    lower_quantile: float = 0.1  # of the losses that may lie below
    trend_windows: int = 6
    depth_factor: float = 100.0  # of the initial scale, below zero; no density goes there
    accelerating_depth_factor: float = 10.0  # if every window falls further than the one before
    min_scale: float = 1.0  # some losses start at zero by chance
    unbraked_share: float = 0.9  # of the earlier fall; a bounded loss slows down
    rise_factor: float = 3.0  # of the initial loss, if nothing was learned
    critical_factor: float = 1000.0  # of the initial loss
    mirrored_windows: int = 3
    # of the first evaluation, if it is the training loss with the opposite sign
    mirror_factor: float = 1.5
    growth_factor: float = 3.0  # of the first evaluation otherwise


LIMITS = Calibration()


class LossDiverging(Rule):
    """The loss leaves its range permanently, upward or downward without bound.

    Why it matters: The model gets worse with every step, and its values soon overflow.
    How it decides:
    - Explodes: all losses of 50 steps exceed `times` the initial loss, or become NaN after that.
    - Lost: after a fall of 30%, the loss stays above 1.5 times its initial value for 200 steps.
      Rises: without any such fall, it rises for 350 steps to 3 times its initial value.
    - Unbounded below: the loss falls without slowing down to -100 times its initial scale (-10
      times if it accelerates), or below zero for 150 steps while the evaluation loss triples.
    - A new optimizer, loss function or input size restarts the comparison. Not applied to
      reinforcement learning and alternating losses.
    What to do: Lower the learning rate or warm it up, clip gradients, and return to a checkpoint. A
    loss that falls without bound has the wrong sign or no regularization.
    """

    times: Positive = 30.0

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Losses(), *RESTARTS, INPUT_SIZES)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = (
        *("LossSpike", "GradientNormSpike", "ExplodingTensor", "LossNotDecreasing"),
        *("Overfit", "Overtraining", "ClipSaturation"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the loss with that of the untrained model."""
        begin_attempt(window, state)
        began = latest_loss_change(window, state)
        loss = single_loss(window, state, "the loss can rise while the model learns")
        if loss is not None:
            _note_evaluations(window, state)
            yield from self._judge(_of_one_training(loss, began, state), state)

    def unfit(self, state: State) -> str:
        """Losses that may go anywhere."""
        return str(state.get("unfit", ""))

    def lacks(self, state: State) -> str | Shortfall:
        """How many losses are missing."""
        count = state.get("seen", 0)
        return (
            ""
            if count >= LIMITS.min_losses
            else Shortfall(count, LIMITS.min_losses, DataUnit.STEPS)
        )

    def _judge(self, curve: Curve, state: State) -> Iterator[Finding]:
        values = curve.values[np.isfinite(curve.values)]
        state["seen"] = state.get("seen", 0) + len(values)
        if len(values):
            state.setdefault("untrained", float(values[0]))
        if self._overflowed(curve, state):
            yield self._finding(
                curve, "has exploded and is no longer finite", state["highest"], state
            )
            return
        if len(values) < LIMITS.min_losses:
            return
        ordered = np.sort(values)
        low, middle = quantile_of(ordered, LIMITS.lower_quantile), quantile_of(ordered, 0.5)
        text = self._exploded(values, state) or _lost(low, state)
        text = text or _bottomless(middle, state) or _uphill(middle, state)
        text = text or _mirrored(middle, state)
        state["best"] = min(state.get("best", middle), middle)
        if text:
            yield self._finding(curve, text, middle, state)

    def _overflowed(self, curve: Curve, state: State) -> bool:
        """Whether it rose far above all it had been, and is no number since then."""
        finite = np.flatnonzero(np.isfinite(curve.values))
        after = len(curve.values) - (int(finite[-1]) + 1 if len(finite) else 0)
        state["gone"] = after + (0 if len(finite) else state.get("gone", 0))
        if len(finite):
            state["highest"] = float(curve.values[finite[-LIMITS.last_finite :]].max())
        if "untrained" not in state or state["gone"] < LIMITS.min_losses:
            return False
        reference = max(state["untrained"], LIMITS.best_factor * state.get("best", 0.0))
        return bool(reference > 0 and state["highest"] > self.times * reference)

    def _exploded(self, values: FloatArray, state: State) -> str:
        reference = max(state["untrained"], LIMITS.best_factor * state.get("best", 0.0))
        if reference <= 0 or float(values.min()) <= self.times * reference:
            return ""
        half = len(values) // 2
        before, after = median_of(values[:half]), median_of(values[half:])
        return "has exploded" if after > LIMITS.still_high_share * before else ""

    def _finding(self, curve: Curve, name: str, now: float, state: State) -> Finding:
        untrained = float(state["untrained"])
        best = min(state.get("best", untrained), untrained)
        is_fatal = abs(now) > LIMITS.critical_factor * max(abs(untrained), 1e-9)
        return self.finding(
            f"{curve.name} {name}: initial {untrained:.4g}, best {best:.4g}, "
            f"{'last finite' if state['gone'] else 'now'} {now:.4g}.",
            severity=Severity.CRITICAL if is_fatal else Severity.WARNING,
            step=(int(curve.steps[0]), int(curve.steps[-1])),
            subject=curve.name,
            evidence={"untrained": untrained, "best": best, "now": now},
        )


def _of_one_training(curve: Curve, began: int | None, state: State) -> Curve:
    """Forgets what was before another optimizer, if the loss jumps with its first step."""
    index = len(curve) if began is None else int(np.searchsorted(curve.steps, began))
    earlier = [*state.get("middles", [])[-1:], *curve.values[:index].tolist()][
        -LIMITS.last_finite :
    ]
    if index == len(curve) or int(curve.steps[index]) != began or not earlier:
        return curve
    before, after = median_of(earlier), median_of(curve.values[index : index + LIMITS.last_finite])
    untrained = state.get("untrained", float(curve.values[0]))
    if not (0 < before <= untrained and after > LIMITS.lost_factor * before):
        return curve  # the same goes on, or what had gone wrong before
    for key in _OF_A_TRAINING:
        state.pop(key, None)
    rows = (curve.steps[index:], curve.times_ns[index:], curve.values[index:])
    return Curve(curve.name, curve.mode, *rows)


def _lost(low: float, state: State) -> str:
    """Whether all that was learned is lost, window after window."""
    untrained = state["untrained"]
    has_learned = 0 < state.get("best", untrained) < LIMITS.learned_share * untrained
    state["lost"] = (
        state.get("lost", 0) + 1 if has_learned and low > LIMITS.lost_factor * untrained else 0
    )
    return "is worse than before training" if state["lost"] >= LIMITS.lost_windows else ""


def _bottomless(middle: float, state: State) -> str:
    """Whether it falls below zero as fast as ever."""
    state["middles"] = [*state.get("middles", []), middle][-LIMITS.trend_windows - 1 :]
    state.setdefault("scale", max(abs(state["untrained"]), abs(middle), LIMITS.min_scale))
    falls = -np.diff(np.array(state["middles"]))
    is_faster = state.get("bottomless", False) or bool((np.diff(falls) > 0).all())
    deep = (LIMITS.accelerating_depth_factor if is_faster else LIMITS.depth_factor) * state["scale"]
    if len(falls) < LIMITS.trend_windows or middle > -deep:
        return ""
    earlier, later = float(falls[: len(falls) // 2].sum()), float(falls[len(falls) // 2 :].sum())
    is_falling = bool((falls > 0).all()) and later >= LIMITS.unbraked_share * earlier
    state["bottomless"] = is_falling
    return "falls without bound" if is_falling else ""


def _uphill(middle: float, state: State) -> str:
    """Whether it has learned nothing and rises as fast as ever: a wrong sign, mostly."""
    rises = np.diff(np.array(state["middles"]))
    untrained = state["untrained"]
    has_learned = state.get("best", middle) < LIMITS.learned_share * untrained
    if (
        has_learned
        or len(rises) < LIMITS.trend_windows
        or not middle > LIMITS.rise_factor * untrained > 0
    ):
        return ""
    half = len(rises) // 2
    is_rising = bool((rises > 0).all())
    is_unbraked = float(rises[half:].sum()) >= LIMITS.unbraked_share * float(rises[:half].sum())
    return "rises without bound" if is_rising and is_unbraked else ""


def _note_evaluations(window: Window, state: State) -> None:
    """Remembers the first and the last mean of each evaluation loss."""
    evaluated_state = state.of("evaluated")
    for curve in window.losses(Mode.EVAL.value):
        values = curve.values[np.isfinite(curve.values)]
        if len(values):
            mean = float(values.mean())
            first, _, count = evaluated_state.get(curve.name, (mean, mean, 0))
            evaluated_state[curve.name] = [first, mean, count + 1]


def _mirrored(middle: float, state: State) -> str:
    """Whether the loss falls below zero while evaluations get worse: it has the wrong sign."""
    falls = -np.diff(np.array(state["middles"][-LIMITS.mirrored_windows - 1 :]))
    if middle >= 0 or len(falls) < LIMITS.mirrored_windows or not (falls > 0).all():
        return ""
    for first, last, count in state.of("evaluated").values():
        is_mirror = 0.5 <= last / -middle <= 2
        minimum = (LIMITS.mirror_factor if is_mirror else LIMITS.growth_factor) * first
        if count >= LIMITS.mirrored_windows and last > minimum > 0:
            return (
                f"falls below zero while the evaluation loss grows from {first:.4g} to {last:.4g}"
            )
    return ""
