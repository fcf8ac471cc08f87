"""ClipSaturation: gradient clipping cuts nearly every step to a small fraction."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Scalars
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg, has_played

_NAME = "clip_factor"
_EARLY_STEPS = 50  # at the beginning gradients are large, and clipping is for that
_IN_A_ROW = 200  # steps
_LEAST = 100  # of a job that is over


class ClipSaturation(Rule):
    """Gradient clipping cuts nearly every step to a small fraction.

    Why it matters: all steps have the same length then, whatever the gradients say. Plain gradient
    descent crawls, and a learning rate that is tuned with it means something else than it says.
    How it decides: from step 50 on, over 200 steps (100 if the job is over), clipping keeps less
    than `fraction` of the gradient in `share` percent of the steps. In reinforcement learning,
    where that is usual, it is advice.
    What to do: compare the gradient norm with `max_norm`: raise the limit to about the usual norm,
    or lower the learning rate; look for a loss that is summed where it should be a mean, or inputs
    that are not scaled.
    """

    fraction: Positive = 0.05
    share: Percent = 95.0

    needs = (Scalars(_NAME),)
    window_steps: ClassVar[int] = 50
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at what clipping left of the gradients."""
        begin_leg(window, state)
        severity = Severity.INFO if has_played(window, state) else Severity.WARNING
        for curve in window.scalars(_NAME):
            is_late = curve.steps >= _EARLY_STEPS
            factors = (state.get("factors", []) + curve.values[is_late].tolist())[-_IN_A_ROW:]
            state["factors"] = factors
            values = np.array(factors)
            if len(values) < (_LEAST if window.is_last else _IN_A_ROW):
                continue
            percent = 100 * float((values < self.fraction).mean())
            if percent >= self.share:
                middle = float(np.median(values))
                yield self.finding(
                    f"Clipping leaves {100 * middle:.2g} % of the gradient: in {percent:.0f} % of "
                    f"the last {len(values)} steps it cuts to less than {100 * self.fraction:g} %.",
                    severity=severity,
                    subject=_NAME,
                    evidence={
                        "middle_factor": middle,
                        "cut_percent": percent,
                        "times_too_small": 1 / max(middle, 1e-12),
                    },
                )

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        seen = len(state.get("factors", []))
        if seen >= _LEAST:
            return ""
        return Shortfall(seen, _LEAST, DataUnit.CLIPPED_STEPS)
