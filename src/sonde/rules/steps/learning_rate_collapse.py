"""LearningRateCollapse: the learning rate has fallen to nothing, and training goes on."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.window import Curve, Window
from sonde.records.finding import Finding
from sonde.records.need import Scalars
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_NAME = "learning_rate*"
_LEAST_STEPS = 100  # without learning: a schedule may end a little too soon


class LearningRateCollapse(Rule):
    """The learning rate falls to nothing long before the end.

    Why it matters: from then on every step costs as much as before and changes nothing.
    How it decides: every learning rate that was ever above zero is below `ratio` of its own highest
    value, for 100 steps and for `share` percent of all steps so far. Warm-up, cycles, schedules
    that reach zero with the last step, and groups that are frozen with a rate of zero do not count.
    What to do: look at the scheduler: it may be stepped every batch where it was made for epochs,
    or its total number of steps may be too small; give it a floor (`eta_min`, `min_lr`).
    """

    ratio: Positive = 1e-5
    share: Percent = 20.0

    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 1
    explains: ClassVar[tuple[str, ...]] = (
        *("WeightUpdateRatio", "ParameterNotUpdated", "UnchangedTensor"),
        *("LossNotDecreasing", "Overtraining"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares every learning rate with the highest it has been."""
        begin_leg(window, state)
        curves = window.scalars(_NAME)
        if not curves:
            return
        low = [self._since(curve, state.of("rates", curve.name)) for curve in curves]
        last = max(int(curve.steps[-1]) for curve in curves)
        state.setdefault("begin", min(int(curve.steps[0]) for curve in curves))
        rated = [one for one in state.of("rates").values() if one["highest"] > 0]
        if not rated or None in low or any("since" not in one for one in rated):
            return
        since = max(int(one["since"]) for one in rated)
        idle, whole = last - since + 1, last - int(state["begin"]) + 1
        if idle >= max(_LEAST_STEPS, self.share / 100 * whole):
            yield self._found(curves, since, last, state)

    def lacks(self, state: State) -> str:
        """Nothing: one learning rate is as good as many."""
        del state
        return ""

    def _since(self, curve: Curve, state: State) -> int | None:
        """The step from which on a rate has been nothing; -1 of one that never was anything."""
        highest = np.maximum.accumulate(
            np.append(float(state.get("highest", 0.0)), np.nan_to_num(curve.values))
        )[1:]
        state["highest"] = float(highest[-1])
        is_low = (curve.values < self.ratio * highest) & (highest > 0)
        if not is_low[-1]:
            state.pop("since", None)
            return None if highest[-1] > 0 else -1
        lasting = int(np.argmin(is_low[::-1])) if not is_low.all() else len(is_low)
        if lasting < len(is_low) or "since" not in state:
            state["since"] = int(curve.steps[len(is_low) - lasting])
        return int(state["since"])

    def _found(self, curves: tuple[Curve, ...], since: int, last: int, state: State) -> Finding:
        rates = state.of("rates")
        highest = {curve.name: float(rates[curve.name]["highest"]) for curve in curves}
        name = max(highest, key=lambda one: highest[one])
        now = next(float(curve.values[-1]) for curve in curves if curve.name == name)
        return self.finding(
            f"{name} has fallen from {highest[name]:.3g} to {now:.3g}: since step {since} nothing "
            f"is learned any more, and {last - since + 1} steps have been made since.",
            step=(since, last),
            subject="learning_rate",
            evidence={
                "highest": highest[name],
                "now": now,
                "since_step": since,
                "steps_without_learning": last - since + 1,
            },
        )
