"""DeadRelu: units of a layer that output zero for nearly all inputs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
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
    full_batch: int = 32  # with which a unit active in one of 50 samples is usually seen
    min_batch: int = 8
    small_batch_percent: float = 90.0  # of a layer, if the batch is smaller
    sigmas: float = 2.0  # of a share of few units
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
        """Of its units."""
        return 100 * self.inactive / self.units if self.units else 0.0


class DeadRelu(Rule):
    """Most units of a layer output zero for nearly all inputs.

    Why it matters: A dead unit gets no gradient and does not recover, so the layer is narrower than
    it looks.
    How it decides:
    - A unit is dead if at most `threshold_inactivity` percent of a batch's samples activate it
      (measured at 0.1, 1, 5, 10 and 50; the next lower value is used).
    - Fires if more than `threshold_layer` percent of a layer is dead at 3 inspections in a row,
      plus 2 standard errors for small layers. With batches of 8 to 31 samples: 90%.
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
        """Looks at how many units of each layer are silent."""
        inspections = list(self._inspections(window))
        if self.is_classic:
            for item in inspections:
                if item.percent > self.threshold_layer:
                    yield self._finding([item], (item.step, item.step), subject=item.layer)
            return
        streaks = Streaks(state)
        latest = {}
        for entry in inspections:
            state["samples"] = max(state.get("samples", 0), entry.samples)
            if entry.samples >= LIMITS.min_batch and entry.units:
                state["looks"] = state.get("looks", 0) + 1
                streaks.note(entry.layer, entry.step, holds=entry.percent > self._limit(entry))
                latest[entry.layer] = entry
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
        """Larger batches or more inspections are needed."""
        if self.is_classic or state.get("looks", 0) >= LIMITS.inspections_in_a_row:
            return ""
        if 0 < state.get("samples", 0) < LIMITS.min_batch:
            return Shortfall(state["samples"], LIMITS.min_batch, DataUnit.BATCH_SAMPLES)
        return Shortfall(state.get("looks", 0), LIMITS.inspections_in_a_row, DataUnit.INSPECTIONS)

    def _inspections(self, window: Window) -> Iterator[_Inspection]:
        for observation in window.observations(_KIND):
            # the hook knows a rectifier when it sees one: names matter only to whom they do
            if "tensor_regex" not in self.explicit_parameters or re.search(
                self.tensor_regex, observation.subject
            ):
                yield self._inspection(observation)

    def _inspection(self, observation: Observation) -> _Inspection:
        facts = observation.facts
        counted = {float(percent): int(count) for percent, count in facts["inactive"].items()}
        below = [percent for percent in counted if percent <= self.threshold_inactivity]
        inactive = counted[max(below) if below else min(counted)]
        rest = (round(observation.value), inactive, int(facts["samples"]))
        return _Inspection(observation.subject, observation.step, observation.worker, *rest)

    def _limit(self, inspection: _Inspection) -> float:
        by_chance = LIMITS.sigmas * 50 / sqrt(inspection.units)
        limit = min(self.threshold_layer + by_chance, 99.0)
        return (
            limit
            if inspection.samples >= LIMITS.full_batch
            else max(limit, LIMITS.small_batch_percent)
        )

    def _finding(self, dead: list[_Inspection], steps: tuple[int, int], subject: str) -> Finding:
        worst = dead[0]
        share = f"{worst.inactive} of {worst.units} units ({worst.percent:.0f}%)"
        share = f"All {worst.units} units" if worst.inactive == worst.units else share
        is_most = (
            worst.percent >= LIMITS.warning_percent
            or self.is_classic
            or "threshold_layer" in self.explicit_parameters
        )
        remaining_names = layers_affected(len(dead) - 1)
        return self.finding(
            f"{share} of {worst.layer} output zero for at least "
            f"{100 - self.threshold_inactivity:g}% of the samples.{remaining_names}",
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
