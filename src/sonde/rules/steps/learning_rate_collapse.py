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
_LOW = 1e-3  # of the highest: three usual drops, which belong to the end of a training
_LOW_SHARE = 70.0  # percent of all steps
_LOW_STEPS = 200
_NEARLY = 1.001  # drops by factors end a rounding error beside their limit


class LearningRateCollapse(Rule):
    """The learning rate falls to nothing long before the end.

    Why it matters: from then on every step costs as much as before and changes nothing.
    How it decides: every learning rate that was ever above zero is below `ratio` of its own highest
    value, for 100 steps and for `share` percent of all steps so far; or at a thousandth of it or
    less, for 200 steps and 70 percent of them: a schedule that was made for the whole training is
    not there so soon. Warm-up, cycles, schedules that reach zero with the last step, and groups
    that are frozen with a rate of zero do not count.
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
        last = max(int(curve.steps[-1]) for curve in curves)
        state.setdefault("begin", min(int(curve.steps[0]) for curve in curves))
        whole = last - int(state["begin"]) + 1
        limits = (
            ("rates", self.ratio, max(_LEAST_STEPS, self.share / 100 * whole)),
            ("low rates", _NEARLY * _LOW, max(_LOW_STEPS, _LOW_SHARE / 100 * whole)),
        )
        since = {
            name: _low_since(curves, limit, state.of(name), last - least + 1)
            for name, limit, least in limits
        }
        found = [one for one in since.values() if one is not None]
        if found:
            yield self._found(curves, min(found), last, state)

    def lacks(self, state: State) -> str:
        """Nothing: one learning rate is as good as many."""
        del state
        return ""

    def _found(self, curves: tuple[Curve, ...], since: int, last: int, state: State) -> Finding:
        rates = state.of("rates")
        highest = {curve.name: float(rates[curve.name]["highest"]) for curve in curves}
        name = max(highest, key=lambda one: highest[one])
        now = next(float(curve.values[-1]) for curve in curves if curve.name == name)
        return self.finding(
            f"{name} has fallen from {highest[name]:.3g} to {now:.3g}: since step {since} (nearly) "
            f"nothing is learned any more, and {last - since + 1} steps have been made since.",
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
    """Since when every rate is below a limit; None where that is not so, or not for long enough.

    Args:
        curves: The rates.
        limit: As a share of the highest value of each.
        state: What is known of each of them.
        latest: The last step at which it may have begun.
    """
    is_low = [_note(curve, state.of(curve.name), limit) for curve in curves]
    rated = [one for one in state.values() if one["highest"] > 0]
    if not rated or not all(is_low) or any("since" not in one for one in rated):
        return None
    since = max(int(one["since"]) for one in rated)
    return since if since <= latest else None


def _note(curve: Curve, state: State, limit: float) -> bool:
    """Notes the step from which on a rate has been low; whether it is, or never was anything."""
    before, top = float(state.get("highest", 0.0)), float(curve.values.max())
    if float(curve.values[-1]) > limit * max(before, top):  # as nearly always
        state["highest"] = max(before, top)
        state.pop("since", None)
        return False
    highest = np.maximum.accumulate(np.append(before, np.nan_to_num(curve.values)))[1:]
    state["highest"] = float(highest[-1])
    is_low = (curve.values < limit * highest) & (highest > 0)
    if not is_low[-1]:
        state.pop("since", None)
        return not highest[-1] > 0
    lasting = int(np.argmin(is_low[::-1])) if not is_low.all() else len(is_low)
    if lasting < len(is_low) or "since" not in state:
        state["since"] = int(curve.steps[len(is_low) - lasting])
    return True
