"""GradientNormSpike: the norm of all gradients jumps far outside of what it has been."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import Usual
from sonde.read.window import Curve, Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars
from sonde.records.shortfall import DataUnit, Shortfall
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
_BETWEEN = "/between"  # the root mean square of the norms since the last such value
_LEAST_BETWEEN = 10  # norms, where the steps between them are known to have had no larger ones
_BACK = 0.1  # of it, at most, is the norm by now: above it the norm has grown, and stays so


class GradientNormSpike(Rule):
    """The norm of all gradients jumps far outside of its recent range.

    Why it matters: one such step may undo hours of training; with Adam it also spoils the running
    averages for a thousand steps.
    How it decides: the last 200 recorded norms tell what is usual. A spike is 20 times the largest
    of these, 50 times their middle, three times as far out as one norm in twenty, counted in
    ratios, and `times` the largest norm that was ever seen; 51 norms are needed. Where norms are
    recorded of a few steps only, as in short jobs on a CPU, Adam, RMSprop and their like still
    remember the gradients in between: the root mean square of these norms, of which the largest was
    at least as large, is judged in the same way after 10 norms, if the norm has come back since.
    Norms that are clipped are told as advice: the step was cut.
    What to do: look at the batch of that step; clip gradients (`clip_grad_norm_`), lower the
    learning rate or warm it up; with half precision, look for overflow.
    """

    times: Positive = _TIMES_LARGEST

    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 1

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks for norms that are out of range."""
        begin_leg(window, state)
        curves = {curve.name: curve for curve in window.scalars(_NAME)}
        for name, curve in curves.items():
            if name.endswith(_BETWEEN):
                continue
            own = state.of("norms", name)
            between = curves.get(name + _BETWEEN)
            if between is not None:
                yield from self._judge_between(window, curve, between, own)
            yield from self._judge(window, curve, own)

    def lacks(self, state: State) -> str | Shortfall:
        """How many norms are missing."""
        norms = list(state.of("norms").values())
        seen = max((one.get("seen", 0) for one in norms), default=0)
        is_between = any(one.get("between") for one in norms)
        least = _LEAST_BETWEEN if is_between else _LEAST
        return "" if seen > least else Shortfall(seen, least + 1, DataUnit.GRADIENT_NORMS)

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
                if window.is_last and _has_settled(curve, int(steps[places[-1]]), usual):
                    yield self.recovered(curve.name)
        state["recent"] = (recent + values.tolist())[-_RECENT:]
        state["largest"] = max(state.get("largest", 0.0), float(values.max()))

    def _judge_between(
        self, window: Window, curve: Curve, between: Curve, state: State
    ) -> Iterator[Finding]:
        """Judges what was between the steps whose norms are known."""
        recent, first = state.get("recent", []), state.get("between", 0)
        at = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
        largest = state.get("largest", 0.0)
        for step, value in zip(between.steps.tolist(), between.values.tolist(), strict=True):
            if len(recent) >= _LEAST_BETWEEN and value > self.times * largest:
                usual = Usual.of(np.array(recent))
                limit = max(_TIMES_MIDDLE * usual.middle, _TIMES_LATELY * usual.largest)
                is_back = at.get(step, value) <= _BACK * value
                was_seen = any(at.get(one, 0.0) >= value for one in range(first, step))
                if value > limit and is_back and not was_seen:
                    yield self._found_between(curve.name, (first, step - 1), value, usual)
                    if window.is_last and _has_settled(curve, step - 1, usual):
                        yield self.recovered(curve.name)
            first, largest = step, max(largest, value)
        state["between"], state["largest"] = first, largest

    def _found_between(
        self, name: str, steps: tuple[int, int], norm: float, usual: Usual
    ) -> Finding:
        return self.finding(
            f"{name} was at least {norm:.4g} at a step from {steps[0]} to {steps[1]}, "
            f"{norm / usual.middle:.0f} times the usual {usual.middle:.3g}, as the running "
            "averages of the optimizer tell.",
            step=steps,
            subject=name,
            evidence=_evidence(norm, usual, is_clipped=False),
        )

    def _found(self, window: Window, name: str, step: int, norm: float, usual: Usual) -> Finding:
        was_cut = any(step in one.steps for one in window.scalars("clip_factor"))
        end = "; it was clipped" if was_cut else ""
        return self.finding(
            f"{name} jumped to {norm:.4g} at step {step}, {norm / usual.middle:.0f} times the "
            f"usual {usual.middle:.3g}{end}.",
            severity=Severity.INFO if was_cut else Severity.WARNING,
            step=step,
            subject=name,
            evidence=_evidence(norm, usual, is_clipped=was_cut),
        )


def _has_settled(curve: Curve, step: int, usual: Usual) -> bool:
    """Whether the norms after a step are as usual."""
    after = curve.values[curve.steps > step]
    is_known = len(after) > 0 and bool(np.isfinite(after).all())
    return is_known and float(np.median(after)) <= usual.upper


def _evidence(norm: float, usual: Usual, *, is_clipped: bool) -> dict[str, float]:
    known = {"norm": norm, "usual": usual.middle, "largest_before": usual.largest}
    return {**known, "is_clipped": is_clipped}
