"""PoorWeightInitialization: signals that grow or die on their way through the layers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.counting import counting_order
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import layer_of

_INPUTS, _GRADIENTS = "relu_input", "gradients"
_SUBJECT = "initialization"
_LAYERS = 3  # fewer do not tell growth from chance
_LOOKS = 3  # recorded steps
_GROWN = 1e3  # times the variance of the first layer, where no threshold is set
_LARGE = 30.0  # and so large a standard deviation: a layer of healthy scale lies near 1
_DIED = 1e-6  # likewise; what PyTorch does by itself loses a factor of ten per layer, to a floor
_SMALL = 1e-4  # of a standard deviation: smaller than any bias that a layer begins with


@dataclass(frozen=True)
class _Signal:
    """How the variance of layer inputs changes on the way through a model, at one step."""

    step: int
    variances: dict[str, float]  # by layer, in order

    @property
    def names(self) -> list[str]:
        """The layers."""
        return list(self.variances)

    @property
    def first(self) -> float:
        """Where it begins."""
        return self.variances[self.names[0]]

    @property
    def last(self) -> float:
        """Where it ends."""
        return self.variances[self.names[-1]]

    @property
    def weakest(self) -> str:
        """The layer that hears least of it; one that is nought to begin with is meant to be."""
        heard = [name for name in self.names if self.variances[name] > 0]
        return min(heard, key=lambda name: self.variances[name], default=self.names[0])

    @property
    def has_died(self) -> bool:
        """Whether next to nothing arrives there: later layers may hear no more than biases."""
        least = self.variances[self.weakest]
        return least < _DIED * self.first and least < _SMALL**2


class PoorWeightInitialization(Rule):
    """At the first steps, signals explode or die on their way through the layers.

    Why it matters: a badly initialized model learns slowly, or never.
    How it decides: classic fires within the first `steps` steps where the largest variance of layer
    inputs is more than threshold times the smallest, where the 95th and the 5th percentile of a
    gradient are closer than distribution_range, or where the loss has not fallen for `patience`
    steps. Healthy models do all of that, so calibrated asks only about growth on the way from the
    first activation, at the first three recorded steps: a thousandfold variance (or the threshold
    that was set) at the last one that is beyond 30 in standard deviation, or a millionth of it
    anywhere that is below 0.0001.
    What to do: initialize each layer for its activation and its number of inputs (Kaiming for ReLU,
    Xavier for tanh); put a normalization between the layers.
    """

    activation_inputs_regex: Regex = ".*relu_input"
    threshold: Positive = 10.0
    distribution_range: Positive = 0.001
    patience: Count = 5
    steps: Count = 10

    needs = (Statistics(_INPUTS), Statistics(_GRADIENTS), Losses())
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 0
    explains = (
        "VanishingGradient",
        "SaturatedActivation",
        "DeadRelu",
        "LossNotDecreasing",
        "GradientNormSpike",
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the first steps only."""
        if (window.first_step or 0) >= self.steps:
            return
        signals = list(self._signals(window))
        if self.is_classic:
            yield from self._of_variances(signals)
            yield from self._of_gradients(window)
            yield from self._of_losses(window, state)
            return
        state["layers"] = max([state.get("layers", 0), *(len(one.names) for one in signals)])
        judged = [one for one in signals if len(one.names) >= _LAYERS]
        state["looks"] = state.get("looks", 0) + len(judged)
        if len(judged) < _LOOKS:
            return
        judged = judged[:_LOOKS]  # later ones tell what training has mended
        final = judged[-1]
        if all(self._has_grown(one) for one in judged):
            yield self._of_growth(final, "grows", final.names[-1])
        elif all(one.has_died for one in judged):
            yield self._of_growth(final, "dies", final.weakest)

    def unfit(self, state: State) -> str:
        """Too few layers to tell."""
        if self.is_classic or state.get("layers", 0) >= _LAYERS or "layers" not in state:
            return ""
        layers = state["layers"] or "no"
        return f"the inputs of {layers} ReLU layers were recorded; it needs {_LAYERS}"

    def lacks(self, state: State) -> str | Shortfall:
        """More looks at the first steps."""
        looks = int(state.get("looks", 0))
        if self.is_classic or looks >= _LOOKS:
            return ""
        return Shortfall(looks, _LOOKS, DataUnit.INSPECTIONS)

    def _signals(self, window: Window) -> Iterator[_Signal]:
        named = "activation_inputs_regex" in self.given
        if named:
            tensors = window.tensors("all", regex=self.activation_inputs_regex)
            window.count(sum(len(one.steps) for one in tensors))
        else:  # what goes into a rectifier, however the script calls it
            tensors = window.tensors(_INPUTS)
        by_step: dict[int, dict[str, float]] = {}
        for tensor in sorted(tensors, key=lambda one: counting_order(one.name)):
            for step, variance in tensor.reduction("variance"):
                if step < self.steps and np.isfinite(variance):
                    by_step.setdefault(step, {})[tensor.name] = variance
        for step in sorted(by_step):
            yield _Signal(step, by_step[step])

    def _has_grown(self, signal: _Signal) -> bool:
        limit = self.threshold if "threshold" in self.given else _GROWN
        return signal.last > limit * signal.first and signal.last > _LARGE**2

    def _of_variances(self, signals: list[_Signal]) -> Iterator[Finding]:
        for signal in signals:
            largest = max(signal.names, key=lambda name: signal.variances[name])
            smallest = min(signal.names, key=lambda name: signal.variances[name])
            most, least = signal.variances[largest], signal.variances[smallest]
            if most > self.threshold * least:
                yield self.finding(
                    f"The variance of {largest} is {most:.3g}, that of {smallest} {least:.3g}.",
                    step=signal.step,
                    tensor=largest,
                    subject="variance",
                    evidence={"largest": most, "smallest": least, "threshold": self.threshold},
                )

    def _of_gradients(self, window: Window) -> Iterator[Finding]:
        for tensor in window.tensors(_GRADIENTS, with_histogram=True):
            spread = tensor.quantiles(0.05, 0.95).tolist()
            for step, (low, high) in zip(tensor.steps.tolist(), spread, strict=True):
                if step < self.steps and high - low < self.distribution_range:
                    yield self.finding(
                        f"Nine tenths of the gradient of {layer_of(tensor.name)} lie between "
                        f"{low:.3g} and {high:.3g}.",
                        step=step,
                        tensor=tensor.name,
                        evidence={"p5": low, "p95": high},
                    )

    def _of_losses(self, window: Window, state: State) -> Iterator[Finding]:
        for curve in window.losses():
            known = state.of(curve.name)
            for step, value in curve:
                if step >= self.steps:
                    return
                if "best" not in known or value < known["best"]:
                    known["best"], known["stale"] = value, 0
                    continue
                known["stale"] += 1
                if known["stale"] >= self.patience:
                    yield self.finding(
                        f"{curve.name} has not fallen below {known['best']:.4g} "
                        f"for {known['stale']} steps.",
                        step=step,
                        subject=curve.name,
                        evidence={"best": known["best"], "now": value},
                    )

    def _of_growth(self, signal: _Signal, how: str, last: str) -> Finding:
        first, there = signal.names[0], signal.variances[last]
        return self.finding(
            f"The signal {how} on its way through the layers: {first} has the variance "
            f"{signal.first:.3g}, {last} has {there:.3g} at step {signal.step}.",
            step=(0, signal.step),
            tensor=last,
            subject=_SUBJECT,
            evidence={
                "first": signal.first,
                "last": there,
                "layers": signal.names,
                "variances": list(signal.variances.values()),
            },
        )
