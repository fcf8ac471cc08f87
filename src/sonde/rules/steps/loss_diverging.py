"""LossDiverging: the loss leaves its range permanently."""

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

# state of the comparison, cleared when a new optimizer or loss function restarts it
_COMPARISON_KEYS = (
    *("untrained", "best", "lost", "middles", "scale", "bottomless", "highest", "gone"),
    "evaluated",
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LossDiverging.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_losses: int = 20  # per window
    best_factor: float = 10.0  # of the best loss; a loss near zero may rise this much harmlessly
    last_finite: int = 5  # losses before NaN whose maximum is reported
    still_high_share: float = 0.5  # of its level half a window earlier; below, it is recovering
    learned_share: float = 0.7  # of the initial loss; below, the model has started to learn
    lost_factor: float = 1.5  # of the initial loss
    lost_windows: int = 4
    lower_quantile: float = 0.1  # of the losses of a window; must exceed the limit
    trend_windows: int = 6
    depth_factor: float = 100.0  # of the initial scale, below zero; log-likelihoods stay above
    accelerating_depth_factor: float = 10.0  # if every window falls further than the one before
    min_scale: float = 1.0  # some losses start near zero by chance
    unbraked_share: float = 0.9  # of the earlier change; a bounded loss slows down
    rise_factor: float = 3.0  # of the initial loss, if the model has not learned
    critical_factor: float = 1000.0  # of the initial loss
    mirrored_windows: int = 3
    # of the first evaluation, if it is the training loss with the opposite sign
    mirror_factor: float = 1.5
    growth_factor: float = 3.0  # of the first evaluation otherwise


LIMITS = Calibration()


class LossDiverging(Rule):
    """The loss rises permanently above its initial value, or falls without bound.

    Why it matters: The model gets worse with every step, and its values soon overflow.
    How it decides:
    - Explodes: all losses of 50 steps are above `times` times the initial loss, or become NaN
      after that.
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
        """Compare the loss with that of the untrained model."""
        begin_attempt(window, state)
        began = latest_loss_change(window, state)
        loss = single_loss(window, state, "the loss can rise while the model learns")
        if loss is not None:
            _note_evaluations(window, state)
            yield from self._judge(_since_restart(loss, began, state), state)

    def unfit(self, state: State) -> str:
        """Reinforcement learning and alternating losses, which may move freely."""
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
        low, median = quantile_of(ordered, LIMITS.lower_quantile), quantile_of(ordered, 0.5)
        text = self._exploded(values, state) or _lost(low, state)
        text = text or _unbounded_fall(median, state) or _unbounded_rise(median, state)
        text = text or _wrong_sign(median, state)
        state["best"] = min(state.get("best", median), median)
        if text:
            yield self._finding(curve, text, median, state)

    def _overflowed(self, curve: Curve, state: State) -> bool:
        """Whether the loss rose far above its reference and has not been finite since."""
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
        """Describe a window in which all losses are far too high; empty if they are not."""
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


def _since_restart(curve: Curve, began: int | None, state: State) -> Curve:
    """Drop the losses before a restart, and the state, if the loss jumps at its first step."""
    index = len(curve) if began is None else int(np.searchsorted(curve.steps, began))
    earlier = [*state.get("middles", [])[-1:], *curve.values[:index].tolist()][
        -LIMITS.last_finite :
    ]
    if index == len(curve) or int(curve.steps[index]) != began or not earlier:
        return curve
    before, after = median_of(earlier), median_of(curve.values[index : index + LIMITS.last_finite])
    untrained = state.get("untrained", float(curve.values[0]))
    if not (0 < before <= untrained and after > LIMITS.lost_factor * before):
        return curve  # no jump, or the loss had already diverged
    for key in _COMPARISON_KEYS:
        state.pop(key, None)
    rows = (curve.steps[index:], curve.times_ns[index:], curve.values[index:])
    return Curve(curve.name, curve.mode, *rows)


def _lost(low: float, state: State) -> str:
    """Describe a loss that stays above its initial value after learning; empty if it does not."""
    untrained = state["untrained"]
    has_learned = 0 < state.get("best", untrained) < LIMITS.learned_share * untrained
    state["lost"] = (
        state.get("lost", 0) + 1 if has_learned and low > LIMITS.lost_factor * untrained else 0
    )
    return "is worse than before training" if state["lost"] >= LIMITS.lost_windows else ""


def _unbounded_fall(median: float, state: State) -> str:
    """Describe a loss that falls far below zero without slowing down; empty if it does not."""
    state["middles"] = [*state.get("middles", []), median][-LIMITS.trend_windows - 1 :]
    state.setdefault("scale", max(abs(state["untrained"]), abs(median), LIMITS.min_scale))
    falls = -np.diff(np.array(state["middles"]))
    is_faster = state.get("bottomless", False) or bool((np.diff(falls) > 0).all())
    factor = LIMITS.accelerating_depth_factor if is_faster else LIMITS.depth_factor
    if len(falls) < LIMITS.trend_windows or median > -factor * state["scale"]:
        return ""
    earlier, later = float(falls[: len(falls) // 2].sum()), float(falls[len(falls) // 2 :].sum())
    is_falling = bool((falls > 0).all()) and later >= LIMITS.unbraked_share * earlier
    state["bottomless"] = is_falling
    return "falls without bound" if is_falling else ""


def _unbounded_rise(median: float, state: State) -> str:
    """Describe a loss that only rises, usually due to a wrong sign; empty if it does not."""
    rises = np.diff(np.array(state["middles"]))
    untrained = state["untrained"]
    has_learned = state.get("best", median) < LIMITS.learned_share * untrained
    if (
        has_learned
        or len(rises) < LIMITS.trend_windows
        or not median > LIMITS.rise_factor * untrained > 0
    ):
        return ""
    half = len(rises) // 2
    is_rising = bool((rises > 0).all())
    is_unbraked = float(rises[half:].sum()) >= LIMITS.unbraked_share * float(rises[:half].sum())
    return "rises without bound" if is_rising and is_unbraked else ""


def _note_evaluations(window: Window, state: State) -> None:
    """Store the first and the latest mean of each evaluation loss."""
    evaluated_state = state.of("evaluated")
    for curve in window.losses(Mode.EVAL.value):
        values = curve.values[np.isfinite(curve.values)]
        if len(values):
            mean = float(values.mean())
            first, _, count = evaluated_state.get(curve.name, (mean, mean, 0))
            evaluated_state[curve.name] = [first, mean, count + 1]


def _wrong_sign(median: float, state: State) -> str:
    """Describe a loss that falls below zero while evaluations get worse; empty if none does."""
    falls = -np.diff(np.array(state["middles"][-LIMITS.mirrored_windows - 1 :]))
    if median >= 0 or len(falls) < LIMITS.mirrored_windows or not (falls > 0).all():
        return ""
    for first, last, count in state.of("evaluated").values():
        is_mirror = 0.5 <= last / -median <= 2
        minimum = (LIMITS.mirror_factor if is_mirror else LIMITS.growth_factor) * first
        if count >= LIMITS.mirrored_windows and last > minimum > 0:
            return (
                f"falls below zero while the evaluation loss grows from {first:.4g} to {last:.4g}"
            )
    return ""
