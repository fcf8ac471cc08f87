"""DeadRelu: units of a layer that are nought whatever comes in."""

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
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._streaks import Streaks

_KIND = "unit-activity"
_LOOKS = 3  # in a row: the first steps of a large learning rate may silence units for a moment
_SPAN = 5  # steps
_SAMPLES = 32  # of which a unit that is active in one of fifty is seen mostly once
_LEAST_SAMPLES = 8
_NEARLY_ALL = 90.0  # percent, where samples are few: then living units look dead, but never all
_SIGMAS = 2.0  # of a share of few units
_MOST = 75.0  # percent of a layer: with fewer dead units it still learns, so it is advice
_NAMED = 8


@dataclass(frozen=True)
class _Look:
    """How many units of a layer are silent in one batch."""

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

    Why it matters: a dead unit has no gradient and does not come back; the layer is narrower than
    it looks.
    How it decides: a unit is dead where at most `threshold_inactivity` percent of a batch activate
    it (counted for 0.1, 1, 5, 10 and 50; the next lower one is taken). Classic fires at every
    inspection with more than `threshold_layer` percent of a layer dead. Calibrated needs three
    inspections in a row and a margin for chance in small layers; in batches of fewer than 32
    samples, 90% of the layer. Below 75% of the layer it is advice.
    What to do: lower the learning rate; initialize with small or positive biases; normalize before
    the activation; use a leaky variant.
    """

    tensor_regex: Regex = ".*relu_output"
    threshold_inactivity: Percent = 1.0
    threshold_layer: Percent = 50.0

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10
    explains = ("VanishingGradient", "NoGradient", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at how many units of each layer are silent."""
        looks = list(self._looks(window))
        if self.is_classic:
            for look in looks:
                if look.percent > self.threshold_layer:
                    yield self._found([look], (look.step, look.step), subject=look.layer)
            return
        streaks = Streaks(state)
        latest = {}
        for look in looks:
            state["samples"] = max(state.get("samples", 0), look.samples)
            if look.samples >= _LEAST_SAMPLES and look.units:
                state["looks"] = state.get("looks", 0) + 1
                streaks.note(look.layer, look.step, holds=look.percent > self._limit(look))
                latest[look.layer] = look
        dead = [latest[name] for name in streaks.lasting(_LOOKS, _SPAN) if name in latest]
        if dead:
            dead.sort(key=lambda one: -one.percent)
            first = min(streaks.steps(one.layer)[0] for one in dead)
            yield self._found(dead, (first, max(one.step for one in dead)), subject="relu_output")

    def lacks(self, state: State) -> str | Shortfall:
        """Larger batches, or more looks."""
        if self.is_classic or state.get("looks", 0) >= _LOOKS:
            return ""
        if 0 < state.get("samples", 0) < _LEAST_SAMPLES:
            return Shortfall(state["samples"], _LEAST_SAMPLES, DataUnit.BATCH_SAMPLES)
        return Shortfall(state.get("looks", 0), _LOOKS, DataUnit.INSPECTIONS)

    def _looks(self, window: Window) -> Iterator[_Look]:
        for one in window.observations(_KIND):
            # the hook knows a rectifier when it sees one: names matter only to whom they do
            if "tensor_regex" not in self.given or re.search(self.tensor_regex, one.subject):
                yield self._look(one)

    def _look(self, seen: Observation) -> _Look:
        told = seen.facts
        counted = {float(percent): int(count) for percent, count in told["inactive"].items()}
        below = [percent for percent in counted if percent <= self.threshold_inactivity]
        inactive = counted[max(below) if below else min(counted)]
        rest = (round(seen.value), inactive, int(told["samples"]))
        return _Look(seen.subject, seen.step, seen.worker, *rest)

    def _limit(self, look: _Look) -> float:
        by_chance = _SIGMAS * 50 / sqrt(look.units)
        limit = min(self.threshold_layer + by_chance, 99.0)
        return limit if look.samples >= _SAMPLES else max(limit, _NEARLY_ALL)

    def _found(self, dead: list[_Look], steps: tuple[int, int], subject: str) -> Finding:
        worst = dead[0]
        is_most = worst.percent >= _MOST or self.is_classic or "threshold_layer" in self.given
        others = f" So it is in {len(dead) - 1} more layers." if len(dead) > 1 else ""
        return self.finding(
            f"{worst.inactive} of {worst.units} units of {worst.layer} ({worst.percent:.0f} %) are "
            f"nought in at least {100 - self.threshold_inactivity:g} % of the samples.{others}",
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
                "layers": [one.layer for one in dead[:_NAMED]],
            },
        )
