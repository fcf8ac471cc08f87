"""LearningRateCollapse: the learning rate has fallen to nearly zero while training continues."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Scalars
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_NAME = "learning_rate*"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LearningRateCollapse.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_steps: int = 100  # a schedule may end a little early
    low_ratio: float = 1e-3  # of the maximum; three typical drops of a step schedule
    low_percent: float = 70.0  # of all steps
    low_steps: int = 200
    rounding: float = 1.001  # of the limit; tolerance for rounding errors


LIMITS = Calibration()


class LearningRateCollapse(Rule):
    """The learning rate falls to nearly zero long before the end.

    Why it matters: From then on, every step costs as much as before and changes nothing.
    How it decides:
    - Every learning rate is below `ratio` of its own maximum, for 100 steps and `share` percent of
      all steps so far.
    - Or every learning rate is at most a thousandth of its maximum, for 200 steps and 70% of all
      steps so far.
    - Warm-up, cyclic schedules, schedules that reach zero at the last step, and groups frozen with
      a rate of zero do not count.
    What to do: Check the scheduler: it may be stepped per batch although it was configured for
    epochs, or its total number of steps may be too small. Give it a floor (`eta_min`, `min_lr`).
    """

    ratio: Positive = 1e-5
    share: Percent = 20.0

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 1
    explains: ClassVar[tuple[str, ...]] = (
        *("WeightUpdateRatio", "ParameterNotUpdated", "UnchangedTensor"),
        *("LossNotDecreasing", "Overtraining"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare every learning rate with its highest value so far."""
        begin_attempt(window, state)
        curves = window.scalars(_NAME)
        if curves:
            state.setdefault("begin", min(int(curve.steps[0]) for curve in curves))
        if "begin" not in state:
            return
        # an unchanged rate is not recorded at every step
        ends = [curve.steps for curve in curves] + [table.steps for table in window.steps()]
        last = max((int(steps[-1]) for steps in ends if len(steps)), default=int(state["begin"]))
        total = last - int(state["begin"]) + 1
        limits = (
            ("rates", self.ratio, max(LIMITS.min_steps, self.share / 100 * total)),
            (
                "low rates",
                LIMITS.rounding * LIMITS.low_ratio,
                max(LIMITS.low_steps, LIMITS.low_percent / 100 * total),
            ),
        )
        since = {
            name: _low_since(curves, limit, state.of(name), last - minimum + 1)
            for name, limit, minimum in limits
        }
        first_steps = [step for step in since.values() if step is not None]
        if first_steps:
            yield self._finding(min(first_steps), last, state)

    def lacks(self, state: State) -> str:
        """Nothing: a single learning rate is enough."""
        del state
        return ""

    def _finding(self, since: int, last: int, state: State) -> Finding:
        rates = state.of("rates")
        highest = {name: float(rate["highest"]) for name, rate in rates.items()}
        name = max(highest, key=lambda name: highest[name])
        now = float(rates[name]["now"])
        return self.finding(
            f"{name} fell from {highest[name]:.3g} to {now:.3g}. It has been nearly zero since "
            f"step {since}, for {last - since + 1} steps.",
            step=(since, last),
            subject="learning_rate",
            evidence={
                "highest": highest[name],
                "now": now,
                "since_step": since,
                "steps_without_learning": last - since + 1,
            },
        )


def _low_since(curves: tuple[Curve, ...], limit: float, state: State, latest: float) -> int | None:
    """Return the first step since which every rate is low, or None if not for long enough.

    Args:
        curves: The rates.
        limit: The limit of each rate as a share of its highest value.
        state: The state of the rates, by name.
        latest: The latest first step that is long enough ago.
    """
    for curve in curves:
        _update_rate(curve, state.of(curve.name), limit)
    nonzero = [rate for rate in state.values() if rate["highest"] > 0]
    if not nonzero or any("since" not in rate for rate in nonzero):
        return None
    since = max(int(rate["since"]) for rate in nonzero)
    return since if since <= latest else None


def _update_rate(curve: Curve, state: State, limit: float) -> None:
    """Store the highest and the latest value of a rate, and since when it is low."""
    state["now"] = float(curve.values[-1])
    before, top = float(state.get("highest", 0.0)), float(curve.values.max())
    if float(curve.values[-1]) > limit * max(before, top):  # the common case
        state["highest"] = max(before, top)
        state.pop("since", None)
        return
    highest = np.maximum.accumulate(np.append(before, np.nan_to_num(curve.values)))[1:]
    state["highest"] = float(highest[-1])
    is_low = (curve.values < limit * highest) & (highest > 0)
    if not is_low[-1]:
        state.pop("since", None)
        return
    lasting = int(np.argmin(is_low[::-1])) if not is_low.all() else len(is_low)
    if lasting < len(is_low) or "since" not in state:
        state["since"] = int(curve.steps[len(is_low) - lasting])
