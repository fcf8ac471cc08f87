"""SaturatedActivation: inputs so large that an activation function passes nothing back."""

from collections.abc import Iterator
from math import isfinite
from typing import ClassVar

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._streaks import Streaks

_KINDS = ("tanh", "sigmoid")
_LOOKS = 3  # recorded steps in a row
_FLAT = {"tanh": 3.0, "sigmoid": 6.0}  # beyond it a hundredth of the steepest slope is left
_FLAT_LOOKS = 5  # from the first one on: training may drive a layer there, but does not begin there
_FLAT_SPAN = 20  # steps
_BEGINNING = 5  # steps
_NAMED = 8


class SaturatedActivation(Rule):
    """Most inputs of a tanh or sigmoid layer are so large that its gradient is nought.

    Why it matters: nothing in front of the layer learns.
    How it decides: classic fires on every recorded step at which more than threshold_layer percent
    of a layer's inputs lie outside its bounds, where 32-bit floats know no slope any more.
    Calibrated wants three recorded steps in a row; or, of a layer in front of the output, that so
    many lie where a hundredth of the slope is left (beyond 3 for tanh, 6 for sigmoid) at the first
    step and ever since, for five recorded steps that span 20: so no layer should begin. Bounds that
    are set hold alone. Shares are read from histograms, interpolated
    within a bin, or from mean and deviation where no histogram was taken. threshold_inactivity is
    accepted and has no effect: statistics do not tell one unit from another.
    What to do: initialize the layers in front with smaller weights; normalize inputs or put a
    normalization before the activation; lower the learning rate.
    """

    threshold_tanh_min: float = -9.4999
    threshold_tanh_max: float = 9.4999
    threshold_sigmoid_min: float = -23.0
    threshold_sigmoid_max: float = 16.99999
    threshold_inactivity: Percent = 1.0
    threshold_layer: Percent = 50.0

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
                        found = [(percent, tensor)]
                        yield self._found(found, (step, step), subject=tensor.name)
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
        spans = {name: streaks.steps(name) for name in streaks.lasting(_LOOKS) if name in worst}
        for name, seen in start.items():
            if name in worst and name not in spans and _has_begun_flat(seen):
                _, first, last, percent = seen
                spans[name] = (first, last)
                worst[name] = (percent, worst[name][1])
        if spans:
            found = sorted((worst[name] for name in spans), key=lambda one: -one[0])
            steps = (min(one for one, _ in spans.values()), max(one for _, one in spans.values()))
            yield self._found(found, steps, subject="saturated")

    def _is_bounded(self, kind: str) -> bool:
        return bool(self.given & {f"threshold_{kind}_min", f"threshold_{kind}_max"})

    def _follow_start(self, kind: str, tensor: WindowTensor, start: State) -> None:
        """Notes for how long a layer has been flat since its first look, as long as it is."""
        if start.get(tensor.name) == []:
            return
        shares = tensor.shares_outside(-_FLAT[kind], _FLAT[kind])
        for step, share in zip(tensor.steps.tolist(), shares.tolist(), strict=True):
            looks, first, *_ = start.get(tensor.name, (0, step))
            if not 100 * share > self.threshold_layer:
                start[tensor.name] = []
                return
            start[tensor.name] = [looks + 1, first, step, 100 * share]

    def lacks(self, state: State) -> str | Shortfall:
        """More recorded steps."""
        looks = int(state.get("looks", 0))
        if self.is_classic or looks >= _LOOKS:
            return ""
        return Shortfall(looks, _LOOKS, DataUnit.INSPECTIONS)

    def _percents(self, kind: str, tensor: WindowTensor) -> Iterator[tuple[int, float]]:
        """The steps, and how many percent of the inputs lie outside."""
        is_tanh = kind == "tanh"
        low = self.threshold_tanh_min if is_tanh else self.threshold_sigmoid_min
        high = self.threshold_tanh_max if is_tanh else self.threshold_sigmoid_max
        shares = tensor.shares_outside(low, high)
        for step, share in zip(tensor.steps.tolist(), shares.tolist(), strict=True):
            if isfinite(share):
                yield step, 100 * share

    def _found(
        self,
        layers: list[tuple[float, WindowTensor]],
        steps: tuple[int, int],
        subject: str,
    ) -> Finding:
        percent, tensor = layers[0]
        others = f" So it is in {len(layers) - 1} more layers." if len(layers) > 1 else ""
        return self.finding(
            f"{percent:.0f} % of {tensor.name} lie where the activation function is flat "
            f"(from {_last(tensor, 'min'):.3g} to {_last(tensor, 'max'):.3g}).{others}",
            step=steps,
            tensor=tensor.name,
            worker=tensor.worker,
            subject=subject,
            evidence={
                "saturated_percent": percent,
                "threshold_layer": self.threshold_layer,
                "layers": [one.name for _, one in layers[:_NAMED]],
            },
        )


def _last(tensor: WindowTensor, reduction: str) -> float:
    return float(tensor.values(reduction)[-1])


def _shapes(window: Window) -> set[tuple[int, ...]]:
    """Of what the model gives out: images and probabilities may lie at their limits."""
    outputs = (*window.tensors("outputs"), *window.tensors("predictions"))
    return {_shape(one) for one in outputs}


def _shape(tensor: WindowTensor) -> tuple[int, ...]:
    return tensor.info.shape if tensor.info is not None else ()


def _has_begun_flat(seen: list[float]) -> bool:
    if not seen:
        return False
    looks, first, last, _ = seen
    return looks >= _FLAT_LOOKS and first <= _BEGINNING and last - first >= _FLAT_SPAN
