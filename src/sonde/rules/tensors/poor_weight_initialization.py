"""PoorWeightInitialization: signals explode or vanish in the first steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.natural_sort import natural_sort_key
from sonde.formats import pluralize
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Losses, Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.tensor_selection import layer_of

_INPUTS, _GRADIENTS = "relu_input", "gradients"
_SUBJECT = "initialization"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of PoorWeightInitialization.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_layers: int = 3  # with fewer, growth may be chance
    inspections: int = 3
    growth_factor: float = 1e3  # times the variance of the first layer
    max_deviation: float = 30.0  # healthy layers are around 1
    # of the variance of the first layer; PyTorch defaults divide it by ten per layer, to a floor
    vanish_factor: float = 1e-6
    min_deviation: float = 1e-4  # smaller than any initial bias


LIMITS = Calibration()


@dataclass(frozen=True)
class _Signal:
    """The variance of layer inputs along the layers of a model, at one step."""

    step: int
    variances: dict[str, float]  # by layer, in order

    @property
    def names(self) -> list[str]:
        """The layers in order."""
        return list(self.variances)

    @property
    def first(self) -> float:
        """The variance of the first layer."""
        return self.variances[self.names[0]]

    @property
    def last(self) -> float:
        """The variance of the last layer."""
        return self.variances[self.names[-1]]

    @property
    def weakest(self) -> str:
        """The layer with the smallest nonzero variance; layers may start at zero on purpose."""
        nonzero = [name for name in self.names if self.variances[name] > 0]
        return min(nonzero, key=lambda name: self.variances[name], default=self.names[0])

    @property
    def has_vanished(self) -> bool:
        """Whether the signal has nearly vanished at the weakest layer, even if biases follow it."""
        minimum = self.variances[self.weakest]
        return minimum < LIMITS.vanish_factor * self.first and minimum < LIMITS.min_deviation**2


class PoorWeightInitialization(Rule):
    """In the first steps, signals explode or vanish on their way through the layers.

    Why it matters: A badly initialized model learns slowly or not at all.
    How it decides:
    - Explodes: the variance of the last ReLU input is 1,000 times that of the first (or `threshold`
      times, if you set it), and its standard deviation is above 30.
    - Vanishes: the variance of some ReLU input is a millionth of that of the first, and its
      standard deviation is below 0.0001.
    - Either must hold at the first 3 recorded steps. Needs 3 ReLU layers.
    - Classic: within the first `steps` steps, the largest variance is `threshold` times the
      smallest, the 5th and 95th percentiles of a gradient are closer than `distribution_range`, or
      the loss has not fallen for `patience` steps.
    What to do: Initialize each layer for its activation and its number of inputs (Kaiming for ReLU,
    Xavier for tanh), or put a normalization between the layers.
    """

    activation_inputs_regex: Regex = ".*relu_input"
    threshold: Positive = 10.0
    distribution_range: Positive = 0.001
    patience: Count = 5
    steps: Count = 10

    section = Section.MODEL
    calibration = LIMITS
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
        """Compare the variances of the layers' inputs in the first steps."""
        if (window.first_step or 0) >= self.steps:
            return
        signals = list(self._signals(window))
        if self.is_classic:
            yield from self._check_variances(signals)
            yield from self._check_gradients(window)
            yield from self._check_losses(window, state)
            return
        state["layers"] = max([state.get("layers", 0), *(len(signal.names) for signal in signals)])
        complete = [signal for signal in signals if len(signal.names) >= LIMITS.min_layers]
        state["looks"] = state.get("looks", 0) + len(complete)
        if len(complete) < LIMITS.inspections:
            return
        initial = complete[: LIMITS.inspections]  # training may have repaired later ones
        final = initial[-1]
        if all(self._has_grown(signal) for signal in initial):
            yield self._finding(final, "explodes", final.names[-1])
        elif all(signal.has_vanished for signal in initial):
            yield self._finding(final, "vanishes", final.weakest)

    def unfit(self, state: State) -> str:
        """Return a reason if too few layers are recorded."""
        if self.is_classic or state.get("layers", 0) >= LIMITS.min_layers or "layers" not in state:
            return ""
        layers = pluralize(state["layers"], "ReLU layer") if state["layers"] else "no ReLU layers"
        return f"inputs of {layers} recorded, {LIMITS.min_layers} needed"

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections of the first steps are missing."""
        inspections = int(state.get("looks", 0))
        if self.is_classic or inspections >= LIMITS.inspections:
            return ""
        return Shortfall(inspections, LIMITS.inspections, DataUnit.INSPECTIONS)

    def _signals(self, window: Window) -> Iterator[_Signal]:
        if "activation_inputs_regex" in self.explicit_parameters:
            tensors = window.tensors("all", regex=self.activation_inputs_regex)
            window.count(sum(len(tensor.steps) for tensor in tensors))
        else:  # inputs of ReLU layers, whatever their names
            tensors = window.tensors(_INPUTS)
        by_step: dict[int, dict[str, float]] = {}
        for tensor in sorted(tensors, key=lambda tensor: natural_sort_key(tensor.name)):
            for step, variance in tensor.reduction("variance"):
                if step < self.steps and np.isfinite(variance):
                    by_step.setdefault(step, {})[tensor.name] = variance
        for step in sorted(by_step):
            yield _Signal(step, by_step[step])

    def _has_grown(self, signal: _Signal) -> bool:
        limit = self.threshold if "threshold" in self.explicit_parameters else LIMITS.growth_factor
        return signal.last > limit * signal.first and signal.last > LIMITS.max_deviation**2

    def _check_variances(self, signals: list[_Signal]) -> Iterator[Finding]:
        for signal in signals:
            largest = max(signal.names, key=lambda name: signal.variances[name])
            smallest = min(signal.names, key=lambda name: signal.variances[name])
            maximum, minimum = signal.variances[largest], signal.variances[smallest]
            if maximum > self.threshold * minimum:
                yield self.finding(
                    f"The variance is {maximum:.3g} at {largest} and {minimum:.3g} at {smallest}.",
                    step=signal.step,
                    tensor=largest,
                    subject="variance",
                    evidence={"largest": maximum, "smallest": minimum, "threshold": self.threshold},
                )

    def _check_gradients(self, window: Window) -> Iterator[Finding]:
        for tensor in window.tensors(_GRADIENTS, with_histogram=True):
            spread = tensor.quantiles(0.05, 0.95).tolist()
            for step, (low, high) in zip(tensor.steps.tolist(), spread, strict=True):
                if step < self.steps and high - low < self.distribution_range:
                    yield self.finding(
                        f"90% of the gradient of {layer_of(tensor.name)} is between "
                        f"{low:.3g} and {high:.3g}.",
                        step=step,
                        tensor=tensor.name,
                        evidence={"p5": low, "p95": high},
                    )

    def _check_losses(self, window: Window, state: State) -> Iterator[Finding]:
        for curve in window.losses():
            curve_state = state.of(curve.name)
            for step, value in curve:
                if step >= self.steps:
                    return
                if "best" not in curve_state or value < curve_state["best"]:
                    curve_state["best"], curve_state["stale"] = value, 0
                    continue
                curve_state["stale"] += 1
                if curve_state["stale"] >= self.patience:
                    yield self.finding(
                        f"{curve.name} has not fallen below {curve_state['best']:.4g} "
                        f"for {curve_state['stale']} steps.",
                        step=step,
                        subject=curve.name,
                        evidence={"best": curve_state["best"], "now": value},
                    )

    def _finding(self, signal: _Signal, verb: str, layer: str) -> Finding:
        first, variance = signal.names[0], signal.variances[layer]
        return self.finding(
            f"The signal {verb} on its way through the layers: the variance is {signal.first:.3g} "
            f"at {first} and {variance:.3g} at {layer}, at step {signal.step}.",
            step=(0, signal.step),
            tensor=layer,
            subject=_SUBJECT,
            evidence={
                "first": signal.first,
                "last": variance,
                "layers": signal.names,
                "variances": list(signal.variances.values()),
            },
        )
