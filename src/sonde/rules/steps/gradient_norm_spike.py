"""GradientNormSpike: the norm of all gradients jumps far outside of what it has been."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import Usual
from sonde.read.window import Curve, Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_NAME = "gradient_norm*"
_RECENT = 200  # recorded steps that tell what is usual
_LEAST = 50  # on a CPU they are few; until then, norms are wild
_TIMES_LARGEST = 3.0  # of all that was ever seen
_TIMES_LATELY = 20.0  # the largest of late: norms have heavy tails in healthy trainings, too
_TIMES_MIDDLE = 50.0  # what is usual: less is a hard batch
_RATIOS = 3.0  # times as far out as one norm in twenty
_OFTEN = 3  # spikes in one window: such a training jumps, and that is how it is


class GradientNormSpike(Rule):
    """The norm of all gradients jumps far outside of its recent range.

    Why it matters: one such step may undo hours of training; with Adam it also spoils the running
    averages for a thousand steps.
    How it decides: the last 200 recorded norms tell what is usual. A spike is 20 times the largest
    of these, 50 times their middle, three times as far out as one norm in twenty, counted in
    ratios, and `times` the largest norm that was ever seen. Norms that are clipped are told as
    advice: the step was cut.
    What to do: look at the batch of that step; clip gradients (`clip_grad_norm_`), lower the
    learning rate or warm it up; with half precision, look for overflow.
    """

    times: Positive = _TIMES_LARGEST

    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks for norms that are out of range."""
        begin_leg(window, state)
        curves = window.scalars(_NAME)
        for curve in curves:
            yield from self._judge(window, curve, state.of("norms", curve.name))

    def lacks(self, state: State) -> str:
        """How many norms are missing."""
        seen = max((one.get("seen", 0) for one in state.of("norms").values()), default=0)
        return "" if seen > _LEAST else f"it has seen {seen} norms; it needs {_LEAST + 1}"

    def _judge(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        is_known = np.isfinite(curve.values) & (curve.values > 0)
        steps, values = curve.steps[is_known], curve.values[is_known]
        if not len(values):
            return
        recent = state.get("recent", [])
        state["seen"] = state.get("seen", 0) + len(values)
        if len(recent) >= _LEAST and float(values.max()) > self.times * state["largest"]:
            usual = Usual.of(np.array(recent))
            limit = max(
                usual.limit(_RATIOS),
                _TIMES_MIDDLE * usual.middle,
                _TIMES_LATELY * usual.largest,
                self.times * state["largest"],
            )
            places = np.flatnonzero(values > limit)
            if 0 < len(places) <= _OFTEN:
                top = int(places[values[places].argmax()])
                norm = float(values[top])
                yield self._found(window, curve.name, int(steps[top]), norm, usual)
        state["recent"] = (recent + values.tolist())[-_RECENT:]
        state["largest"] = max(state.get("largest", 0.0), float(values.max()))

    def _found(self, window: Window, name: str, step: int, norm: float, usual: Usual) -> Finding:
        was_cut = any(step in one.steps for one in window.scalars("clip_factor"))
        end = "; it was clipped" if was_cut else ""
        return self.finding(
            f"{name} jumped to {norm:.4g} at step {step}, {norm / usual.middle:.0f} times the "
            f"usual {usual.middle:.3g}{end}.",
            severity=Severity.INFO if was_cut else Severity.WARNING,
            step=step,
            subject=name,
            evidence={
                "norm": norm,
                "usual": usual.middle,
                "largest_before": usual.largest,
                "is_clipped": was_cut,
            },
        )
