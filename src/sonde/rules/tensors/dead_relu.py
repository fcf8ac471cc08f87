"""DeadRelu: units of a layer that output zero for nearly all inputs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from sonde.formats import format_exact_percent, format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observations.parameters import UnitActivity
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_selection import layers_affected

_KIND = "unit-activity"
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of DeadRelu.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    # the first steps of a high learning rate may silence units briefly
    inspections_in_a_row: int = 3
    span_steps: int = 5
    full_batch: int = 32  # samples; enough to usually see a unit that is active in 1 of 50
    min_batch: int = 8  # samples
    small_batch_percent: float = 90.0  # of a layer, if the batch is smaller
    sigmas: float = 2.0  # standard errors of the share of dead units
    max_limit_percent: float = 99.0  # of a layer, including the standard errors
    warning_percent: float = 75.0  # of a layer; with fewer dead units it still learns


LIMITS = Calibration()


@dataclass(frozen=True)
class _Inspection:
    """The number of inactive units of a layer in one batch."""

    layer: str
    step: int
    worker: int
    units: int
    inactive: int
    samples: int

    @property
    def percent(self) -> float:
        """The share of inactive units in percent."""
        return 100 * self.inactive / self.units if self.units else 0.0


class DeadRelu(Rule):
    """Most units of a layer output zero for nearly all inputs.

    Why it matters: A dead unit gets no gradient and does not recover, so the layer is narrower than
    it looks.
    How it decides:
    - A unit is dead if at most `threshold_inactivity` percent of a batch's samples activate it
      (measured at 0.1, 1, 5, 10 and 50; the next lower value is used).
    - Fires if more than `threshold_layer` percent of a layer, plus 2 standard errors (12.5 points
      for 64 units), is dead at 3 inspections in a row. With batches of 8 to 31 samples: 90%.
    - `info` below 75% of the layer, unless you set `threshold_layer`.
    - Classic: more than `threshold_layer` percent at any inspection.
    What to do: Lower the learning rate, initialize with small or positive biases, normalize before
    the activation, or use a leaky variant.
    """

    tensor_regex: Regex = ".*relu_output"
    threshold_inactivity: Percent = 1.0
    threshold_layer: Percent = 50.0

    section = Section.MODEL
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10
    explains = ("VanishingGradient", "NoGradient", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the share of dead units of each layer with the limit."""
        inspections = list(self._inspections(window))
        if self.is_classic:
            for inspection in inspections:
                if inspection.percent > self.threshold_layer:
                    steps = (inspection.step, inspection.step)
                    yield self._finding([inspection], steps, subject=inspection.layer)
            return
        streaks = Streaks(state)
        latest = {}
        for inspection in inspections:
            state["samples"] = max(state.get("samples", 0), inspection.samples)
            if inspection.samples >= LIMITS.min_batch and inspection.units:
                state["looks"] = state.get("looks", 0) + 1
                is_dead = inspection.percent > self._limit(inspection)
                streaks.note(inspection.layer, inspection.step, holds=is_dead)
                latest[inspection.layer] = inspection
        dead = [
            latest[name]
            for name in streaks.lasting(LIMITS.inspections_in_a_row, LIMITS.span_steps)
            if name in latest
        ]
        if dead:
            dead.sort(key=lambda inspection: -inspection.percent)
            first = min(streaks.steps(inspection.layer)[0] for inspection in dead)
            yield self._finding(
                dead, (first, max(inspection.step for inspection in dead)), subject="relu_output"
            )

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many samples per batch or inspections are missing."""
        if self.is_classic or state.get("looks", 0) >= LIMITS.inspections_in_a_row:
            return ""
        if 0 < state.get("samples", 0) < LIMITS.min_batch:
            return Shortfall(state["samples"], LIMITS.min_batch, DataUnit.BATCH_SAMPLES)
        return Shortfall(state.get("looks", 0), LIMITS.inspections_in_a_row, DataUnit.INSPECTIONS)

    def _inspections(self, window: Window) -> Iterator[_Inspection]:
        for observation in window.observations(_KIND):
            # the hook records rectifiers only, so names matter only if a pattern is set
            if "tensor_regex" not in self.explicit_parameters or re.search(
                self.tensor_regex, observation.subject
            ):
                activity = UnitActivity.of(observation)
                inactive = activity.inactive_below(self.threshold_inactivity)
                if inactive is not None:
                    layer, step, worker = observation.subject, observation.step, observation.worker
                    counts = (round(observation.value), inactive, activity.samples)
                    yield _Inspection(layer, step, worker, *counts)

    def _limit(self, inspection: _Inspection) -> float:
        tolerance = LIMITS.sigmas * 50 / sqrt(inspection.units)  # standard error of a share of 50%
        limit = min(self.threshold_layer + tolerance, LIMITS.max_limit_percent)
        return (
            limit
            if inspection.samples >= LIMITS.full_batch
            else max(limit, LIMITS.small_batch_percent)
        )

    def _finding(self, dead: list[_Inspection], steps: tuple[int, int], subject: str) -> Finding:
        worst = dead[0]
        share = f"{worst.inactive} of {worst.units} units ({format_percent(worst.percent)})"
        share = f"All {worst.units} units" if worst.inactive == worst.units else share
        is_most = (
            worst.percent >= LIMITS.warning_percent
            or self.is_classic
            or "threshold_layer" in self.explicit_parameters
        )
        suffix = layers_affected(len(dead) - 1)
        return self.finding(
            f"{share} of {worst.layer} output zero for at least "
            f"{format_exact_percent(100 - self.threshold_inactivity)} of the samples.{suffix}",
            severity=Severity.WARNING if is_most else Severity.INFO,
            step=steps,
            tensor=worst.layer,
            worker=worst.worker,
            subject=subject,
            evidence={
                "dead_percent": worst.percent,
                "threshold_layer": self.threshold_layer,
                "units": worst.units,
                "samples": worst.samples,
                "layers": [inspection.layer for inspection in dead[:_MAX_LISTED]],
            },
        )
