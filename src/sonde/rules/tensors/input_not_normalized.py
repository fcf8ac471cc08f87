"""InputNotNormalized: what goes into a model is far from zero mean and unit scale."""

import math
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State

_LOOKS = 2
_FIRST_STEPS = 60  # what comes later is no news
_MOSTLY_ZERO = 0.5  # counts, one-hot codes and masks have no scale of their own
_MAIN = 0.1  # of the largest input: smaller ones are steps, weights, conditions
_FIRST_LAYERS = 2  # one of them a normalization: then the scale of the input does not matter
_BEFORE_ACTIVATIONS = ("relu_input", "tanh_input", "sigmoid_input")
_AROUND = 0.2  # of its scale: an input whose mean is nearer to zero has no side
_PASSED_ON = 0.05  # of the input's scale: less in front of an activation was scaled down before


class InputNotNormalized(Rule):
    """Inputs are far from zero mean and unit scale.

    Why it matters: initialization and learning rates are made for inputs around one. Pixels from 0
    to 255 or features in raw units make the first activations and gradients a hundred times too
    large, and those of one feature drown the others.
    How it decides: from the first steps, the root of the mean square of every input of floating
    point must lie between `smallest` and `largest`; pixels from 0 to 1 do. Left alone are models
    that begin with a normalization layer or scale inputs down themselves, as what comes to their
    activations or the gradients of their layers tell, small side inputs, and inputs that are mostly
    zero, such as one-hot codes and masks.
    What to do: subtract the mean and divide by the standard deviation of the training set, channel
    by channel or feature by feature; or let the model begin with a batch normalization.
    """

    largest: Positive = 20.0
    smallest: Positive = 0.005

    needs = (Statistics("inputs"), Statistics("gradients"))
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up what the first steps were given."""
        if (window.first_step or 0) >= _FIRST_STEPS:
            return
        inputs = [one for one in window.tensors("inputs") if _has_scale(one)]
        for one in inputs:
            _add(one, state.of("inputs", one.name))
        largest = max((own["count"] for own in state.of("inputs").values()), default=0.0)
        for one in inputs:
            own = state.of("inputs", one.name)
            if own["looks"] >= _LOOKS and own["count"] >= _MAIN * largest:
                yield from self._judged(one, own, window)

    def lacks(self, state: State) -> str | Shortfall:
        """How many looks are missing."""
        seen = max((int(own["looks"]) for own in state.of("inputs").values()), default=_LOOKS)
        return "" if seen >= _LOOKS else Shortfall(seen, _LOOKS, DataUnit.INSPECTIONS)

    def _judged(self, tensor: WindowTensor, own: State, window: Window) -> Iterator[Finding]:
        mean, scale = own["sum"] / own["count"], math.sqrt(own["squares"] / own["count"])
        if own.get("is_told") or own["zeros"] > _MOSTLY_ZERO * own["count"]:
            return
        if self.smallest <= scale <= self.largest or _begins_normalized(window):
            return
        if scale > self.largest and _is_scaled_down(mean, scale, window):
            return
        own["is_told"] = True
        std = math.sqrt(max(0.0, scale**2 - mean**2))
        yield self.finding(
            f"{tensor.name} has a mean of {mean:.3g} and a standard deviation of {std:.3g} "
            f"(from {own['minimum']:.3g} to {own['maximum']:.3g}).",
            step=(int(own["first"]), int(tensor.steps[-1])),
            tensor=tensor.name,
            worker=tensor.worker,
            evidence={
                "mean": mean,
                "std": std,
                "minimum": own["minimum"],
                "maximum": own["maximum"],
                "looks": own["looks"],
            },
        )


def _add(tensor: WindowTensor, own: State) -> None:
    own.setdefault("first", int(tensor.steps[0]))
    own["looks"] = own.get("looks", 0) + len(tensor.steps)
    finite = tensor.column("count") - tensor.column("nans") - tensor.column("infinities")
    own["count"] = own.get("count", 0.0) + float(finite.sum())
    for name, column in (("sum", "sum"), ("squares", "sum_of_squares"), ("zeros", "zeros")):
        own[name] = own.get(name, 0.0) + float(tensor.column(column).sum())
    lowest, highest = tensor.column("minimum"), tensor.column("maximum")
    own["minimum"] = min(own.get("minimum", math.inf), float(lowest.min()))
    own["maximum"] = max(own.get("maximum", -math.inf), float(highest.max()))


def _has_scale(tensor: WindowTensor) -> bool:
    """Whether it is data and no indices, mask or one number per sample."""
    info = tensor.info
    if info is None or "float" not in info.dtype or len(info.shape) < 2:
        return False
    return "mask" not in tensor.name and bool((tensor.column("count") > 0).all())


def _begins_normalized(window: Window) -> bool:
    """Whether one of the first layers is a normalization: its weight is a vector."""
    known = (next(iter(holders.values())) for holders in window.data.infos().values())
    weights = [one for one in known if "weights" in one.collections][:_FIRST_LAYERS]
    return any(len(one.shape) == 1 for one in weights)


def _is_scaled_down(mean: float, scale: float, window: Window) -> bool:
    """Whether what comes to activations, or else to layers, is far smaller: the model scales it."""
    sizes = []
    for one in (one for name in _BEFORE_ACTIVATIONS for one in window.tensors(name)):
        count = max(1.0, float(one.column("count")[-1]))
        sizes.append(math.sqrt(float(one.column("sum_of_squares")[-1]) / count))
    if not sizes and abs(mean) >= _AROUND * scale:
        sizes = _means_of_layer_inputs(window)
    return bool(sizes) and max(sizes) < _PASSED_ON * scale


def _means_of_layer_inputs(window: Window) -> list[float]:
    """How far from zero the inputs of layers are, as gradients tell; empty where they do not.

    That of a weight is that of the bias for each input, times the input: if the mean of inputs is
    far from zero, it is larger by that.
    """
    gradients = {one.name: one for one in window.tensors("gradients")}
    found = []
    for name, one in gradients.items():
        if one.info is None or len(one.info.shape) < 2:
            continue
        bias = gradients.get("bias".join(name.rsplit("weight", 1)))
        if bias is None or bias is one or not float(bias.column("sum_of_squares")[-1]) > 0:
            return []  # what goes in there, nobody knows
        inputs = math.prod(one.info.shape[1:])
        ratio = float(one.column("sum_of_squares")[-1] / bias.column("sum_of_squares")[-1])
        found.append(math.sqrt(ratio / inputs))
    return found
