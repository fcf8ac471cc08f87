"""SaturatedActivation: inputs so large that an activation function passes nothing back."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_selection import layers_affected

_KINDS = ("tanh", "sigmoid")
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SaturatedActivation.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    steps_in_a_row: int = 3  # recorded ones
    tanh_flat_from: float = 3.0  # a hundredth of the steepest slope is left there
    sigmoid_flat_from: float = 6.0  # likewise
    flat_inspections: int = 5  # from the first one on
    flat_span_steps: int = 20
    initial_steps: int = 5


LIMITS = Calibration()


class SaturatedActivation(Rule):
    """Most inputs of a tanh or sigmoid layer are so large that its gradient is zero.

    Why it matters: Nothing before the layer learns.
    How it decides:
    - More than `threshold_layer` percent of a layer's inputs are outside its bounds (where the
      float32 gradient is zero), at 3 recorded steps in a row.
    - Or, unless you set bounds, so many inputs of a layer that is not the output are beyond 3
      (tanh) or 6 (sigmoid) from its first 5 steps on, at 5 recorded steps that span 20.
    - Shares come from histograms, or from mean and standard deviation without them.
      `threshold_inactivity` is accepted but has no effect.
    - Classic: outside the bounds at any recorded step.
    What to do: Initialize the preceding layers with smaller weights, normalize inputs or add a
    normalization before the activation, or lower the learning rate.
    """

    threshold_tanh_min: float = -9.4999
    threshold_tanh_max: float = 9.4999
    threshold_sigmoid_min: float = -23.0
    threshold_sigmoid_max: float = 16.99999
    threshold_inactivity: Percent = 1.0
    threshold_layer: Percent = 50.0

    section = Section.MODEL
    calibration = LIMITS
    needs = tuple(Statistics(f"{kind}_input") for kind in _KINDS)
    window_steps: ClassVar[int] = 50
    explains = ("VanishingGradient", "NoGradient", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the inputs of every such layer."""
        streaks = Streaks(state)
        worst: dict[str, tuple[float, WindowTensor]] = {}
        outputs = set() if self.is_classic else _shapes(window)
        for kind in _KINDS:
            for tensor in window.tensors(f"{kind}_input", with_histogram=True):
                for step, percent in self._percents(kind, tensor):
                    state["looks"] = state.get("looks", 0) + 1
                    is_saturated = percent > self.threshold_layer
                    if self.is_classic and is_saturated:
                        result = [(percent, tensor)]
                        yield self._finding(result, (step, step), subject=tensor.name)
                    streaks.note(tensor.name, step, holds=is_saturated)
                    worst[tensor.name] = (percent, tensor)
                if outputs and _shape(tensor) not in outputs and not self._is_bounded(kind):
                    self._follow_start(kind, tensor, state.of("start"))
        if not self.is_classic:
            yield from self._lasting(worst, streaks, state.of("start"))

    def _lasting(
        self, worst: dict[str, tuple[float, WindowTensor]], streaks: Streaks, start: State
    ) -> Iterator[Finding]:
        """What has lasted, of the layers that were seen."""
        spans = {
            name: streaks.steps(name)
            for name in streaks.lasting(LIMITS.steps_in_a_row)
            if name in worst
        }
        for name, count in start.items():
            if name in worst and name not in spans and _has_begun_flat(count):
                _, first, last, percent = count
                spans[name] = (first, last)
                worst[name] = (percent, worst[name][1])
        if spans:
            result = sorted((worst[name] for name in spans), key=lambda item: -item[0])
            steps = (
                min(item for item, _ in spans.values()),
                max(item for _, item in spans.values()),
            )
            yield self._finding(result, steps, subject="saturated")

    def _is_bounded(self, kind: str) -> bool:
        return bool(self.explicit_parameters & {f"threshold_{kind}_min", f"threshold_{kind}_max"})

    def _follow_start(self, kind: str, tensor: WindowTensor, start: State) -> None:
        """Notes for how long a layer has been flat since its first look, as long as it is."""
        if start.get(tensor.name) == []:
            return
        flat_from = LIMITS.tanh_flat_from if kind == "tanh" else LIMITS.sigmoid_flat_from
        shares = tensor.shares_outside(-flat_from, flat_from)
        for step, share in zip(tensor.steps.tolist(), shares.tolist(), strict=True):
            inspections, first, *_ = start.get(tensor.name, (0, step))
            if not 100 * share > self.threshold_layer:
                start[tensor.name] = []
                return
            start[tensor.name] = [inspections + 1, first, step, 100 * share]

    def lacks(self, state: State) -> str | Shortfall:
        """More recorded steps."""
        inspections = int(state.get("looks", 0))
        if self.is_classic or inspections >= LIMITS.steps_in_a_row:
            return ""
        return Shortfall(inspections, LIMITS.steps_in_a_row, DataUnit.INSPECTIONS)

    def _percents(self, kind: str, tensor: WindowTensor) -> Iterator[tuple[int, float]]:
        """The steps, and how many percent of the inputs lie outside."""
        is_tanh = kind == "tanh"
        low = self.threshold_tanh_min if is_tanh else self.threshold_sigmoid_min
        high = self.threshold_tanh_max if is_tanh else self.threshold_sigmoid_max
        shares = tensor.shares_outside(low, high)
        for step, share in zip(tensor.steps.tolist(), shares.tolist(), strict=True):
            if isfinite(share):
                yield step, 100 * share

    def _finding(
        self,
        layers: list[tuple[float, WindowTensor]],
        steps: tuple[int, int],
        subject: str,
    ) -> Finding:
        percent, tensor = layers[0]
        remaining_names = layers_affected(len(layers) - 1)
        return self.finding(
            f"{percent:.0f}% of the values of {tensor.name} are where the activation is flat "
            f"(range {_last(tensor, 'min'):.3g} to {_last(tensor, 'max'):.3g}).{remaining_names}",
            step=steps,
            tensor=tensor.name,
            worker=tensor.worker,
            subject=subject,
            evidence={
                "saturated_percent": percent,
                "threshold_layer": self.threshold_layer,
                "layers": [item.name for _, item in layers[:_MAX_LISTED]],
            },
        )


def _last(tensor: WindowTensor, reduction: str) -> float:
    return float(tensor.values(reduction)[-1])


def _shapes(window: Window) -> set[tuple[int, ...]]:
    """Of what the model gives out: images and probabilities may lie at their limits."""
    outputs = (*window.tensors("outputs"), *window.tensors("predictions"))
    return {_shape(output) for output in outputs}


def _shape(tensor: WindowTensor) -> tuple[int, ...]:
    return tensor.info.shape if tensor.info is not None else ()


def _has_begun_flat(count: list[float]) -> bool:
    if not count:
        return False
    inspections, first, last, _ = count
    return (
        inspections >= LIMITS.flat_inspections
        and first <= LIMITS.initial_steps
        and last - first >= LIMITS.flat_span_steps
    )
