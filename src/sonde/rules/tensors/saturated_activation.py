"""SaturatedActivation: inputs of activations are so large that gradients are zero."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from sonde.formats import format_percent
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Regex
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

    steps_in_a_row: int = 3  # recorded steps
    tanh_flat_from: float = 3.0  # the slope there is a hundredth of the steepest one
    sigmoid_flat_from: float = 6.0  # the same
    flat_inspections: int = 5  # in a row from the first one
    flat_span_steps: int = 20
    initial_steps: int = 5


LIMITS = Calibration()


class SaturatedActivation(Rule):
    """Most inputs of a tanh or sigmoid layer are so large that its gradient is zero.

    Why it matters: Nothing before the layer learns.
    How it decides:
    - More than `threshold_layer` percent of a layer's inputs are outside its bounds (where the
      float32 gradient is zero), at 3 recorded steps in a row.
    - Or, unless you set bounds, that percentage of the inputs of a layer other than the output is
      beyond 3 (tanh) or 6 (sigmoid) from its first 5 steps on, at 5 recorded steps that span 20.
    - Shares come from histograms, or from mean and standard deviation without them.
      `threshold_inactivity` is accepted but has no effect.
    - `collection_names` and `tensor_regex` restrict the check to some of these inputs. Classic:
      outside the bounds at any recorded step.
    What to do: Initialize the preceding layers with smaller weights, normalize inputs or add a
    normalization before the activation, or lower the learning rate.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex = ".*tanh_input|.*sigmoid_input"
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
        """Compare the share of saturated inputs of each layer with the limit."""
        streaks = Streaks(state)
        worst: dict[str, tuple[float, WindowTensor]] = {}
        outputs = set() if self.is_classic else _output_shapes(window)
        for kind in _KINDS:
            for tensor in self._selected(window, f"{kind}_input"):
                for step, percent in self._percents(kind, tensor):
                    state["looks"] = state.get("looks", 0) + 1
                    is_saturated = percent > self.threshold_layer
                    if self.is_classic and is_saturated:
                        yield self._finding([(percent, tensor)], (step, step), subject=tensor.name)
                    streaks.note(tensor.name, step, holds=is_saturated)
                    worst[tensor.name] = (percent, tensor)
                if outputs and _shape(tensor) not in outputs and not self._is_bounded(kind):
                    self._update_start(kind, tensor, state.of("start"))
        if not self.is_classic:
            yield from self._check_spans(worst, streaks, state.of("start"))

    def _check_spans(
        self, worst: dict[str, tuple[float, WindowTensor]], streaks: Streaks, start: State
    ) -> Iterator[Finding]:
        """Report the layers that have been saturated for long enough."""
        spans = {
            name: streaks.steps(name)
            for name in streaks.lasting(LIMITS.steps_in_a_row)
            if name in worst
        }
        for name, count in start.items():
            if name in worst and name not in spans and _started_flat(count):
                _, first, last, percent = count
                spans[name] = (first, last)
                worst[name] = (percent, worst[name][1])
        if spans:
            layers = sorted((worst[name] for name in spans), key=lambda item: -item[0])
            steps = (
                min(first for first, _ in spans.values()),
                max(last for _, last in spans.values()),
            )
            yield self._finding(layers, steps, subject="saturated")

    def _selected(self, window: Window, collection: str) -> Iterator[WindowTensor]:
        """Yield the inputs that the parameters select; all of them by default."""
        is_by_name = "tensor_regex" in self.explicit_parameters
        is_by_collection = self.collection_names is not None
        for tensor in window.tensors(collection, with_histogram=True):
            collections = tensor.info.collections if tensor.info is not None else (collection,)
            is_member = bool({*collections, "all"} & {*(self.collection_names or ())})
            is_match = is_by_name and re.search(self.tensor_regex, tensor.name) is not None
            if is_member or is_match or not (is_by_name or is_by_collection):
                yield tensor

    def _is_bounded(self, kind: str) -> bool:
        return bool(self.explicit_parameters & {f"threshold_{kind}_min", f"threshold_{kind}_max"})

    def _update_start(self, kind: str, tensor: WindowTensor, start: State) -> None:
        """Record for how long a layer has been saturated since its first inspection."""
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
        """Return how many recorded steps are missing."""
        inspections = int(state.get("looks", 0))
        if self.is_classic or inspections >= LIMITS.steps_in_a_row:
            return ""
        return Shortfall(inspections, LIMITS.steps_in_a_row, DataUnit.INSPECTIONS)

    def _percents(self, kind: str, tensor: WindowTensor) -> Iterator[tuple[int, float]]:
        """Yield each step and the percentage of inputs outside the bounds."""
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
        suffix = layers_affected(len(layers) - 1)
        return self.finding(
            f"{format_percent(percent)} of the values of {tensor.name} are where the activation is "
            f"flat (range {_last(tensor, 'min'):.3g} to {_last(tensor, 'max'):.3g}).{suffix}",
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


def _output_shapes(window: Window) -> set[tuple[int, ...]]:
    """Return the shapes of model outputs; images and probabilities may be at their limits."""
    outputs = (*window.tensors("outputs"), *window.tensors("predictions"))
    return {_shape(output) for output in outputs}


def _shape(tensor: WindowTensor) -> tuple[int, ...]:
    return tensor.info.shape if tensor.info is not None else ()


def _started_flat(start: list[float]) -> bool:
    if not start:
        return False
    inspections, first, last, _ = start
    return (
        inspections >= LIMITS.flat_inspections
        and first <= LIMITS.initial_steps
        and last - first >= LIMITS.flat_span_steps
    )
