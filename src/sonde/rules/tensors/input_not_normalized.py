"""InputNotNormalized: the inputs of a model are far from zero mean and unit scale."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State

_BEFORE_ACTIVATIONS = ("relu_input", "tanh_input", "sigmoid_input")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of InputNotNormalized.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_inspections: int = 2
    first_steps: int = 60
    zero_share: float = 0.5  # of the values; counts, one-hot codes and masks have no scale
    main_share: float = 0.1  # of the elements of the largest input; smaller ones are conditions
    first_layers: int = 2  # if one is a normalization, the scale of the input does not matter
    centered_share: float = 0.2  # of the scale; gradients do not show a mean closer to zero
    scaled_down_share: float = 0.05  # of the input's scale, at the inputs of activations


LIMITS = Calibration()


class InputNotNormalized(Rule):
    """Inputs are far from zero mean and unit scale.

    Why it matters: Initialization and learning rates assume inputs of unit scale. Pixels from 0 to
    255 or features in raw units make the first activations and gradients a hundred times too large,
    and one feature can dominate all others.
    How it decides:
    - In the first 60 steps, the root mean square of a floating-point input is above `largest` or
      below `smallest`, over 2 inspections. Pixels from 0 to 1 pass.
    - Not applied if one of the first 2 layers is a normalization, or if the model scales its input
      down itself (seen at the inputs of its activations or in its gradients).
    - Not applied to inputs that are mostly zero (one-hot codes, masks) and to inputs with less than
      10% of the elements of the largest one.
    What to do: Subtract the mean and divide by the standard deviation of the training set, per
    channel or feature. Or start the model with a batch normalization.
    """

    largest: Positive = 20.0
    smallest: Positive = 0.005

    section = Section.DATA
    calibration = LIMITS
    needs = (Statistics("inputs"), Statistics("gradients"))
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the input statistics of the first steps and compare them with the limits."""
        if (window.first_step or 0) >= LIMITS.first_steps:
            return
        inputs = [tensor for tensor in window.tensors("inputs") if _has_scale(tensor)]
        for tensor in inputs:
            _add_statistics(tensor, state.of("inputs", tensor.name))
        largest = max((item["count"] for item in state.of("inputs").values()), default=0.0)
        for tensor in inputs:
            input_state = state.of("inputs", tensor.name)
            if (
                input_state["looks"] >= LIMITS.min_inspections
                and input_state["count"] >= LIMITS.main_share * largest
            ):
                yield from self._evaluate(tensor, input_state, window)

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        count = max(
            (int(item["looks"]) for item in state.of("inputs").values()),
            default=LIMITS.min_inspections,
        )
        return (
            ""
            if count >= LIMITS.min_inspections
            else Shortfall(count, LIMITS.min_inspections, DataUnit.INSPECTIONS)
        )

    def _evaluate(self, tensor: WindowTensor, state: State, window: Window) -> Iterator[Finding]:
        mean, scale = state["sum"] / state["count"], math.sqrt(state["squares"] / state["count"])
        if state.get("is_told") or state["zeros"] > LIMITS.zero_share * state["count"]:
            return
        if self.smallest <= scale <= self.largest or _starts_with_normalization(window):
            return
        if scale > self.largest and _is_scaled_down(mean, scale, window):
            return
        state["is_told"] = True
        std = math.sqrt(max(0.0, scale**2 - mean**2))
        yield self.finding(
            f"{tensor.name} has a mean of {mean:.3g} and a standard deviation of {std:.3g} "
            f"(range {state['minimum']:.3g} to {state['maximum']:.3g}).",
            step=(int(state["first"]), int(tensor.steps[-1])),
            tensor=tensor.name,
            worker=tensor.worker,
            evidence={
                "mean": mean,
                "std": std,
                "minimum": state["minimum"],
                "maximum": state["maximum"],
                "looks": state["looks"],
            },
        )


def _add_statistics(tensor: WindowTensor, state: State) -> None:
    state.setdefault("first", int(tensor.steps[0]))
    state["looks"] = state.get("looks", 0) + len(tensor.steps)
    finite = tensor.column("count") - tensor.column("nans") - tensor.column("infinities")
    state["count"] = state.get("count", 0.0) + float(finite.sum())
    for name, column in (("sum", "sum"), ("squares", "sum_of_squares"), ("zeros", "zeros")):
        state[name] = state.get(name, 0.0) + float(tensor.column(column).sum())
    lowest, highest = tensor.column("minimum"), tensor.column("maximum")
    state["minimum"] = min(state.get("minimum", math.inf), float(lowest.min()))
    state["maximum"] = max(state.get("maximum", -math.inf), float(highest.max()))


def _has_scale(tensor: WindowTensor) -> bool:
    """Whether a tensor holds data, not indices, a mask or one number per sample."""
    info = tensor.info
    if info is None or "float" not in info.dtype or len(info.shape) < 2:
        return False
    return "mask" not in tensor.name and bool((tensor.column("count") > 0).all())


def _starts_with_normalization(window: Window) -> bool:
    """Whether one of the first layers is a normalization, which has a vector as weight."""
    infos = (next(iter(holders.values())) for holders in window.data.infos().values())
    weights = [info for info in infos if "weights" in info.collections][: LIMITS.first_layers]
    return any(len(weight.shape) == 1 for weight in weights)


def _is_scaled_down(mean: float, scale: float, window: Window) -> bool:
    """Whether the inputs of activations, or else of layers, are far smaller than the model's."""
    sizes = []
    for tensor in (item for name in _BEFORE_ACTIVATIONS for item in window.tensors(name)):
        count = max(1.0, float(tensor.column("count")[-1]))
        sizes.append(math.sqrt(float(tensor.column("sum_of_squares")[-1]) / count))
    if not sizes and abs(mean) >= LIMITS.centered_share * scale:
        sizes = _means_of_layer_inputs(window)
    return bool(sizes) and max(sizes) < LIMITS.scaled_down_share * scale


def _means_of_layer_inputs(window: Window) -> list[float]:
    """Estimate the mean inputs of layers from gradients; empty if a layer has no usable bias.

    For each sample, the gradient of a weight is the gradient of the bias times the input. Their
    ratio is therefore about the mean input, if that is far from zero.
    """
    gradients = {tensor.name: tensor for tensor in window.tensors("gradients")}
    result = []
    for name, gradient in gradients.items():
        if gradient.info is None or len(gradient.info.shape) < 2:
            continue
        bias = gradients.get("bias".join(name.rsplit("weight", 1)))
        if bias is None or bias is gradient or not float(bias.column("sum_of_squares")[-1]) > 0:
            return []  # the inputs of this layer are unknown
        inputs = math.prod(gradient.info.shape[1:])
        squares, bias_squares = (item.column("sum_of_squares")[-1] for item in (gradient, bias))
        ratio = float(squares / bias_squares)
        result.append(math.sqrt(ratio / inputs))
    return result
