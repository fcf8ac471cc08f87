"""GradientNormSpike: the norm of all gradients jumps far outside its recent range."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import TypicalRange
from sonde.read.curves import Curve
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_NAME = "gradient_norm*"
_BETWEEN = "/between"  # suffix of the root mean square of norms since the last recorded step


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of GradientNormSpike.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    recent_norms: int = 200  # for the median and the tail
    min_norms: int = 50  # norms of the first steps vary widely
    ever_factor: float = 3.0  # of the largest norm so far
    recent_factor: float = 20.0  # of the largest recent norm; healthy runs have heavy tails, too
    median_factor: float = 50.0  # of the median; less is a hard batch
    tail_factor: float = 3.0  # of the log distance between median and 95th percentile
    max_per_window: int = 3  # spikes; more are normal for this training
    # recorded norms, if the optimizer's averages cover the steps between them
    min_norms_between: int = 10
    recovered_share: float = 0.1  # of the spike; below, the norm has recovered


LIMITS = Calibration()


class GradientNormSpike(Rule):
    """The gradient norm jumps far outside its recent range.

    Why it matters: One such step can undo hours of training. With Adam, it also distorts the
    running averages for a thousand steps.
    How it decides:
    - A norm exceeds 20 times the largest and 50 times the median of the last 200 recorded norms,
      and `times` the largest norm ever; on a logarithmic scale, it is 3 times as far from the
      median as the 95th percentile.
    - Needs 51 recorded norms. More than 3 spikes in 50 steps do not count.
    - If only some steps are recorded, the optimizer's running averages (Adam, RMSprop and similar)
      reveal spikes in between, after 10 norms and if the norm has recovered.
    - `info` if the gradient was clipped.
    What to do: Look at the batch of that step. Clip gradients (`clip_grad_norm_`), lower the
    learning rate or warm it up. In half precision, check for overflow.
    """

    times: Positive = LIMITS.ever_factor

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 1

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look for norms that are out of range."""
        begin_attempt(window, state)
        curves = {curve.name: curve for curve in window.scalars(_NAME)}
        for name, curve in curves.items():
            if name.endswith(_BETWEEN):
                continue
            norm_state = state.of("norms", name)
            between = curves.get(name + _BETWEEN)
            if between is not None:
                yield from self._judge_between(window, curve, between, norm_state)
            yield from self._judge(window, curve, norm_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many norms are missing."""
        norms = list(state.of("norms").values())
        count = max((norm.get("seen", 0) for norm in norms), default=0)
        is_between = any(norm.get("between") for norm in norms)
        minimum = LIMITS.min_norms_between if is_between else LIMITS.min_norms
        return "" if count > minimum else Shortfall(count, minimum + 1, DataUnit.GRADIENT_NORMS)

    def _judge(self, window: Window, curve: Curve, state: State) -> Iterator[Finding]:
        is_known = np.isfinite(curve.values) & (curve.values > 0)
        steps, values = curve.steps[is_known], curve.values[is_known]
        if not len(values):
            return
        recent = state.get("recent", [])
        state["seen"] = state.get("seen", 0) + len(values)
        if len(recent) >= LIMITS.min_norms and float(values.max()) > self.times * state["largest"]:
            typical = TypicalRange.of(np.array(recent))
            limit = max(
                typical.limit(LIMITS.tail_factor),
                LIMITS.median_factor * typical.median,
                LIMITS.recent_factor * typical.largest,
                self.times * state["largest"],
            )
            indices = np.flatnonzero(values > limit)
            if 0 < len(indices) <= LIMITS.max_per_window:
                top = int(indices[values[indices].argmax()])
                norm = float(values[top])
                yield self._finding(window, curve.name, int(steps[top]), norm, typical)
                if window.is_last and _has_settled(curve, int(steps[indices[-1]]), typical):
                    yield self.recovered(curve.name)
        state["recent"] = (recent + values.tolist())[-LIMITS.recent_norms :]
        state["largest"] = max(state.get("largest", 0.0), float(values.max()))

    def _judge_between(
        self, window: Window, curve: Curve, between: Curve, state: State
    ) -> Iterator[Finding]:
        """Look for spikes between the steps whose norms are recorded."""
        recent, first = state.get("recent", []), state.get("between", 0)
        norm_at = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
        largest = state.get("largest", 0.0)
        for step, value in zip(between.steps.tolist(), between.values.tolist(), strict=True):
            if len(recent) >= LIMITS.min_norms_between and value > self.times * largest:
                typical = TypicalRange.of(np.array(recent))
                limit = max(
                    LIMITS.median_factor * typical.median, LIMITS.recent_factor * typical.largest
                )
                has_recovered = norm_at.get(step, value) <= LIMITS.recovered_share * value
                is_recorded = any(norm_at.get(index, 0.0) >= value for index in range(first, step))
                if value > limit and has_recovered and not is_recorded:
                    yield self._finding_between(curve.name, (first, step - 1), value, typical)
                    if window.is_last and _has_settled(curve, step - 1, typical):
                        yield self.recovered(curve.name)
            first, largest = step, max(largest, value)
        state["between"], state["largest"] = first, largest

    def _finding_between(
        self, name: str, steps: tuple[int, int], norm: float, typical: TypicalRange
    ) -> Finding:
        return self.finding(
            f"{name} reached at least {norm:.4g} between steps {steps[0]} and {steps[1]}, "
            f"{norm / typical.median:.0f} times the median of {typical.median:.3g}, according to "
            "the optimizer's running averages.",
            step=steps,
            subject=name,
            evidence=_evidence(norm, typical, is_clipped=False),
        )

    def _finding(
        self, window: Window, name: str, step: int, norm: float, typical: TypicalRange
    ) -> Finding:
        is_clipped = any(step in curve.steps for curve in window.scalars("clip_factor"))
        end = "; it was clipped" if is_clipped else ""
        return self.finding(
            f"{name} jumped to {norm:.4g} at step {step}, {norm / typical.median:.0f} times the "
            f"median of {typical.median:.3g}{end}.",
            severity=Severity.INFO if is_clipped else Severity.WARNING,
            step=step,
            subject=name,
            evidence=_evidence(norm, typical, is_clipped=is_clipped),
        )


def _has_settled(curve: Curve, step: int, typical: TypicalRange) -> bool:
    """Whether the norms after a step are back in their typical range."""
    after = curve.values[curve.steps > step]
    is_known = len(after) > 0 and bool(np.isfinite(after).all())
    return is_known and float(np.median(after)) <= typical.upper


def _evidence(norm: float, typical: TypicalRange, *, is_clipped: bool) -> dict[str, float]:
    numbers = {"norm": norm, "usual": typical.median, "largest_before": typical.largest}
    return {**numbers, "is_clipped": is_clipped}
