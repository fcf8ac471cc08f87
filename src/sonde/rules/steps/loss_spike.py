"""LossSpike: the loss jumps far outside its recent range."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import TypicalRange, median_of
from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.finding import Finding
from sonde.records.need import Losses
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import (
    INPUT_SIZES,
    RESTARTS,
    begin_attempt,
    highest_learning_rate,
    latest_loss_change,
    single_loss,
)

_SPIKE_KEYS = ("since", "peak", "peak_step", "tail", "limit", "usual")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LossSpike.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    recent_steps: int = 200  # for the median and the tail
    min_steps: int = 100
    initial_steps: int = 10  # whose median is the initial loss
    spike_steps: int = 3  # out of range; a single bad batch is not a spike
    spike_window: int = 5  # consecutive steps that contain them
    single_recent_factor: float = 30.0  # of the largest recent loss, for a single step
    single_initial_factor: float = 3.0  # of the largest initial loss, for a single step
    abrupt_steps: int = 10  # before the jump, the loss was in range; a slow rise is not a jump
    change_steps: int = 16  # around a new loss function; input sizes are recorded every 16 steps
    min_share: float = 0.25  # of the initial loss
    recovery_steps: int = 10  # whose median must be in range
    give_up_steps: int = 400  # after which the new level is the normal one
    restart_factor: float = 2.0  # of the lowest recent learning rate, when a schedule restarts
    restart_tolerance: float = 1.01  # of the highest earlier learning rate


LIMITS = Calibration()


class LossSpike(Rule):
    """The loss jumps far outside its recent range.

    Why it matters: Something set the model back: a bad batch, a learning rate that is too high, a
    gradient that overflowed. Progress may be lost, and a second spike may be fatal.
    How it decides:
    - 3 of 5 consecutive losses exceed the highest of the last 200 steps, are `times` as far from
      the median as the 95th percentile, and a quarter of the initial loss above the median.
    - Or a single loss is 30 times the highest of the last 100 steps and 3 times the initial loss.
    - Not applied in the first 100 steps, within 16 steps of a new optimizer, loss function or input
      size, and after a learning-rate restart.
    - Not applied to negative losses, alternating losses and reinforcement learning.
    What to do: Look at the batches and the learning rate of these steps. Clip gradients, warm up or
    lower the learning rate. If the loss does not recover, return to the last checkpoint before the
    spike.
    """

    times: Positive = 6.0

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Losses(), *RESTARTS, INPUT_SIZES)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("GradientNormSpike",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look for losses that are out of range, and whether they recover."""
        begin_attempt(window, state)
        state["changed"] = latest_loss_change(window, state)
        loss = single_loss(window, state, "the loss jumps with the states the model visits")
        if loss is not None:
            yield from self._judge(window, loss, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        count = state.get("seen", 0)
        return (
            ""
            if count > LIMITS.min_steps
            else Shortfall(count, LIMITS.min_steps + 1, DataUnit.STEPS)
        )

    def unfit(self, state: State) -> str:
        """Losses that are expected to jump, such as those of reinforcement learning."""
        return str(state.get("unfit", ""))

    def _judge(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        is_finite = np.isfinite(curve.values)
        steps, values = curve.steps[is_finite], curve.values[is_finite]
        if not len(values):
            return
        state["first"] = (state.get("first", []) + values[: LIMITS.initial_steps].tolist())[
            : LIMITS.initial_steps
        ]
        state["seen"] = state.get("seen", 0) + len(values)
        # a spike may have begun at the end of the previous window
        pending = state.pop("pending", [])
        steps = np.append([step for step, _ in pending], steps).astype(np.int64)
        values = np.append([value for _, value in pending], values)
        if float(values.min()) < 0:
            state["unfit"] = "the loss is negative"
            return
        begin: int | None = 0
        if "since" not in state:
            begin = self._spike(window, steps, values, state)
        if begin is None:
            pending = [] if window.is_last else [*zip(steps.tolist(), values.tolist(), strict=True)]
            state["pending"] = pending[1 - LIMITS.spike_window :]
            _add_losses(window, values[: len(values) - len(state["pending"])], state)
        else:
            yield from self._follow(curve.name, steps[begin:], values[begin:], state)

    def _spike(
        self, window: Window, steps: IntArray, values: FloatArray, state: State
    ) -> int | None:
        """Return the index at which a spike begins, or None if there is none."""
        recent_values: list[float] = state.get("recent", [])
        top, untrained_top = float(values.max()), LIMITS.single_initial_factor * max(state["first"])
        if len(recent_values) < LIMITS.min_steps or top <= min(max(recent_values), untrained_top):
            return None  # the common case
        if _rate_restarts(window, state):
            return None
        recent = np.array(recent_values)
        typical, untrained = TypicalRange.of(recent), median_of(state["first"])
        latest = TypicalRange.of(recent[-LIMITS.min_steps :])
        # if the loss has just fallen, the latest steps are more typical than the fall
        tail_limit = min(typical.limit(self.times), latest.limit(self.times))
        limit = max(tail_limit, typical.largest, typical.median + LIMITS.min_share * untrained)
        begin = _cluster(values > limit)
        single_limit = max(
            LIMITS.single_recent_factor * latest.largest, untrained_top, latest.limit(self.times)
        )
        single_indices = np.flatnonzero(values > single_limit)
        is_jump = begin is not None and (
            float(np.append(recent, values[:begin])[-LIMITS.abrupt_steps :][0]) <= typical.upper
        )
        if not is_jump and not len(single_indices):
            return None
        first = begin if begin is not None and is_jump else int(single_indices[0])
        changed = state["changed"]
        if changed is not None and abs(int(steps[first]) - changed) <= LIMITS.change_steps:
            return None
        state["limit"], state["usual"] = limit if is_jump else single_limit, latest.median
        return first

    def _follow(
        self, name: str, steps: IntArray, values: FloatArray, state: State
    ) -> Iterator[Finding]:
        """Report the height of a spike and whether the loss has recovered."""
        state.setdefault("since", int(steps[0]))
        top = int(values.argmax())
        if values[top] > state.get("peak", 0.0):
            state["peak"], state["peak_step"] = float(values[top]), int(steps[top])
        state["tail"] = state.get("tail", []) + values.tolist()
        recovery = _recovery_index(np.array(state["tail"]), float(state["limit"]))
        steps_lasted = len(state["tail"]) if recovery is None else recovery
        yield self._finding(name, state, steps_lasted, has_recovered=recovery is not None)
        if recovery is not None:
            yield self.recovered(name)
        if recovery is not None or steps_lasted > LIMITS.give_up_steps:
            before = state["recent"] if recovery is not None else []
            state["recent"] = (before + state["tail"][recovery or 0 :])[-LIMITS.recent_steps :]
            for key in _SPIKE_KEYS:
                del state[key]

    def _finding(
        self, name: str, state: State, steps_lasted: int, *, has_recovered: bool
    ) -> Finding:
        count = f"{steps_lasted} step" if steps_lasted == 1 else f"{steps_lasted} steps"
        end = f"recovered after {count}" if has_recovered else f"has not recovered in {count}"
        return self.finding(
            f"{name} jumped from {state['usual']:.4g} to {state['peak']:.4g} at step "
            f"{state['peak_step']} and {end}.",
            step=(int(state["since"]), int(state["since"]) + max(steps_lasted, 1) - 1),
            subject=name,
            evidence={
                "usual": state["usual"],
                "limit": state["limit"],
                "peak": state["peak"],
                "peak_step": state["peak_step"],
                "lasted_steps": steps_lasted,
                "has_recovered": has_recovered,
            },
        )


def _cluster(is_out: BoolArray) -> int | None:
    """Return the index of the first cluster of steps out of range, or None if there is none."""
    indices = np.flatnonzero(is_out)
    spans = indices[LIMITS.spike_steps - 1 :] - indices[: len(indices) - LIMITS.spike_steps + 1]
    close = np.flatnonzero(spans < LIMITS.spike_window)
    return int(indices[close[0]]) if len(close) else None


def _add_losses(window: Window, values: FloatArray, state: State) -> None:
    """Add the losses and learning rates of a window without a spike to the history."""
    state["recent"] = (state.get("recent", []) + values.tolist())[-LIMITS.recent_steps :]
    rates = highest_learning_rate(window)
    if len(rates):
        state["rate"] = float(rates[-1])
        state["highest_rate"] = max(state.get("highest_rate", 0.0), float(rates.max()))


def _recovery_index(values: FloatArray, limit: float) -> int | None:
    """Return the index from which on the median is within the limit, or None if it never is."""
    if len(values) < LIMITS.recovery_steps:
        return None
    inside = np.lib.stride_tricks.sliding_window_view(values <= limit, LIMITS.recovery_steps)
    indices = np.flatnonzero(2 * inside.sum(axis=1) >= LIMITS.recovery_steps)
    if not len(indices):
        return None
    index = int(indices[0])
    return index + int(np.argmax(inside[index]))


def _rate_restarts(window: Window, state: State) -> bool:
    """Whether the learning rate rises to an earlier level, as in schedules with restarts."""
    rates = highest_learning_rate(window)
    if not len(rates) or "rate" not in state:
        return False
    series = np.append(state["rate"], rates)
    is_up = series > LIMITS.restart_factor * np.minimum.accumulate(series)
    highest = LIMITS.restart_tolerance * state["highest_rate"]
    return bool(is_up.any()) and float(rates.max()) <= highest
