"""ClipSaturation: gradient clipping cuts nearly every step to a small fraction."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.formats import format_exact_percent, format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt, was_reinforcement_learning

_NAME = "clip_factor"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ClipSaturation.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    early_steps: int = 50  # skipped; gradients are large at the start, so clipping is expected
    window_steps: int = 200
    min_steps_at_end: int = 100  # in the last window of a job


LIMITS = Calibration()


class ClipSaturation(Rule):
    """Gradient clipping scales almost every gradient down to a small fraction.

    Why it matters: All steps then have the same length, whatever the gradients are. With plain SGD,
    the effective learning rate is far below the configured one.
    How it decides:
    - Clipping keeps less than `fraction` of the gradient in at least `share` percent of 200
      consecutive clipped steps (100 at the end of the job).
    - The first 50 steps do not count.
    - In reinforcement learning, where this is common, it is `info`.
    What to do: Compare the gradient norm with `max_norm` and raise the limit to about the typical
    norm, or lower the learning rate. Check for a loss that is summed instead of averaged, and for
    unscaled inputs.
    """

    fraction: Positive = 0.05
    share: Percent = 95.0

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check which share of the gradient remains after clipping."""
        begin_attempt(window, state)
        severity = Severity.INFO if was_reinforcement_learning(window, state) else Severity.WARNING
        for curve in window.scalars(_NAME):
            is_late = curve.steps >= LIMITS.early_steps
            factors = (state.get("factors", []) + curve.values[is_late].tolist())[
                -LIMITS.window_steps :
            ]
            state["factors"] = factors
            values = np.array(factors)
            if len(values) < (LIMITS.min_steps_at_end if window.is_last else LIMITS.window_steps):
                continue
            percent = 100 * float((values < self.fraction).mean())
            if percent >= self.share:
                median = float(np.median(values))
                yield self.finding(
                    f"Clipping keeps {format_percent(100 * median)} of the gradient (median): less "
                    f"than {format_exact_percent(100 * self.fraction)} in "
                    f"{format_percent(percent)} of the last {len(values)} steps.",
                    severity=severity,
                    subject=_NAME,
                    evidence={
                        "middle_factor": median,
                        "cut_percent": percent,
                        "times_too_small": 1 / max(median, 1e-12),
                    },
                )

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        count = len(state.get("factors", []))
        if count >= LIMITS.min_steps_at_end:
            return ""
        return Shortfall(count, LIMITS.min_steps_at_end, DataUnit.CLIPPED_STEPS)
