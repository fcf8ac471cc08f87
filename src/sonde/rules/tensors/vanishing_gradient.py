"""VanishingGradient: the gradients of a layer are so small that it does not learn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.window import Window, WindowTensor
from sonde.records.arrays import FloatArray
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.streaks import Streaks
from sonde.rules.measures.tensor_columns import by_tensor, column_of_all, steps_of_all

_COLLECTION = "gradients"
_EVERY = "every gradient"
_ALL_ZERO_ADVICE = (
    "Look for a loss that is multiplied by zero, masked out, clamped or rounded, and for a "
    "detach() between the model and the loss. In half precision, scale the loss."
)
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of VanishingGradient.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    steps_in_a_row: int = 3  # recorded steps, which are close together only at first
    span_steps: int = 35
    min_nonzero: int = 2  # of these steps, with a small gradient that is not zero
    far_factor: float = 1e-3  # of the limit; below it, fewer steps suffice, farther apart
    far_steps_in_a_row: int = 2
    far_span_steps: int = 70
    initial_steps: int = 5  # recorded steps that define the initial level
    behind_ratio: float = 1e-3  # of the largest gradient
    converged_ratio: float = 1e-2  # of the initial level
    # number of recorded steps from the first one, and the steps they span
    all_zero_steps: tuple[int, int] = (5, 100)


LIMITS = Calibration()


class VanishingGradient(Rule):
    """The gradients of a layer are so small that it does not learn.

    Why it matters: The layers before it learn nothing either, and the model behaves as if it were
    shallower.
    How it decides:
    - The mean absolute gradient of a weight, over its nonzero elements, is below `threshold` and a
      thousandth of the largest one, at 3 recorded steps in a row that span 35 (2 that span 70 if it
      is another 1,000 times smaller).
    - Or every gradient of the model is exactly zero from the start, at 5 recorded steps that span
      100.
    - Not applied to biases, to layers whose gradient is only ever exactly zero, and once all
      gradients are below 1% of their initial level (converged).
    - Classic: the mean absolute gradient of any tensor is below `threshold` at any recorded step.
    What to do: Use ReLU-like activations, residual connections or normalization, and initialize the
    layer for its activation. In half precision, scale the loss.
    """

    threshold: Positive = 1e-7

    section = Section.MODEL
    calibration = LIMITS
    needs = (Statistics(_COLLECTION),)
    window_steps: ClassVar[int] = 50

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare every recorded gradient with the limits."""
        tensors = window.tensors(_COLLECTION)
        if self.is_classic:
            yield from self._check_classic(tensors)
            return
        if tensors and not state.get("is_fed"):
            yield from self._check_all_zero(tensors, state)
        yield from self._check_calibrated(tensors, state)

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many recorded steps are missing."""
        count, last = int(state.get("seen", 0)), int(state.get("last", 0))
        first = int(state.get("first", last))
        if self.is_classic or (
            count >= LIMITS.steps_in_a_row and last - first >= LIMITS.span_steps
        ):
            return ""
        if count < LIMITS.steps_in_a_row:
            return Shortfall(count, LIMITS.steps_in_a_row, DataUnit.INSPECTIONS)
        return Shortfall(last - first, LIMITS.span_steps, DataUnit.STEPS_BETWEEN)

    def _check_classic(self, tensors: tuple[WindowTensor, ...]) -> Iterator[Finding]:
        for tensor in tensors:
            for step, value in tensor.reduction("abs_mean"):
                if value < self.threshold:
                    yield self.finding(
                        f"The mean absolute gradient of {_layer(tensor)} is {value:.3g}.",
                        step=step,
                        tensor=tensor.name,
                        worker=tensor.worker,
                        evidence={"abs_mean": value, "threshold": self.threshold},
                    )

    def _check_all_zero(self, tensors: Sequence[WindowTensor], state: State) -> Iterator[Finding]:
        """Report if all gradients have been zero so far."""
        if (column_of_all(tensors, "zeros") < column_of_all(tensors, "count")).any():
            state["is_fed"] = True
            return
        steps = np.unique(steps_of_all(tensors))
        first, last = state.setdefault("nought_since", int(steps[0])), int(steps[-1])
        state["nought"] = state.get("nought", 0) + len(steps)
        minimum, span = LIMITS.all_zero_steps
        if state["nought"] >= minimum and last - first >= span:
            yield self.finding(
                f"All {len(tensors)} gradients have been exactly zero since step {first}: the loss "
                "does not reach any parameter.",
                step=(first, last),
                tensor=tensors[0].name,
                subject=_EVERY,
                advice=_ALL_ZERO_ADVICE,
                evidence={
                    "abs_mean": 0.0,
                    "threshold": self.threshold,
                    "tensors": [tensor.name for tensor in tensors[:_MAX_LISTED]],
                    "count": len(tensors),
                    "of": len(tensors),
                },
            )

    def _check_calibrated(
        self, tensors: tuple[WindowTensor, ...], state: State
    ) -> Iterator[Finding]:
        weights = [tensor for tensor in tensors if tensor.is_matrix]
        if not weights:
            return
        values = _nonzero_means(weights)
        steps: list[int] = np.unique(steps_of_all(weights)).tolist()
        streaks, nonzero_counts, far_counts = Streaks(state), state.of("tiny"), state.of("far")
        is_settled = state.get("seen", 0) >= LIMITS.initial_steps and not streaks
        if is_settled and (values >= self.threshold).all():  # the common case
            state["seen"], state["last"] = state["seen"] + len(steps), steps[-1]
            return
        means = {
            item.name: dict(zip(item.steps.tolist(), tensor_means, strict=True))
            for item, tensor_means in by_tensor(weights, values.tolist())
        }
        latest: dict[str, float] = {}
        for step in steps:
            now = {name: mean[step] for name, mean in means.items() if step in mean}
            largest = max(now.values())
            state["seen"] = state.get("seen", 0) + 1
            state["first"], state["last"] = state.get("first", step), step
            if state["seen"] <= LIMITS.initial_steps:
                state["lively"] = max(state.get("lively", 0.0), largest)
            is_converged = largest < LIMITS.converged_ratio * state["lively"]
            limit = min(self.threshold, LIMITS.behind_ratio * largest)
            for name, value in now.items():
                is_small = value < limit and not is_converged
                streaks.note(name, step, holds=is_small)
                nonzero_counts[name] = nonzero_counts.get(name, 0) + bool(value) if is_small else 0
                is_far = is_small and 0 < value < LIMITS.far_factor * limit
                far_counts[name] = far_counts.get(name, 0) + 1 if is_far else 0
                latest[name] = value
        lasting = _lasting_names(streaks, far_counts)
        names = [name for name in means if name in lasting]
        # a gradient that is always exactly zero belongs to an unused layer or expert
        if any(nonzero_counts[name] >= LIMITS.min_nonzero for name in names):
            first = min(streaks.steps(name)[0] for name in names)
            yield self._finding(names, latest, means, (first, steps[-1]))

    def _finding(
        self,
        names: list[str],
        latest: dict[str, float],
        means: dict[str, dict[int, float]],
        steps: tuple[int, int],
    ) -> Finding:
        """Create one finding for all layers, because they vanish together."""
        worst = min(names, key=lambda name: latest[name])
        best = max((name for name in means if name in latest), key=lambda name: latest[name])
        more = "" if len(names) == 1 else f" and {len(names) - 1} more"
        return self.finding(
            f"{worst.removeprefix('gradient/')}{more}: mean absolute gradient "
            f"{latest[worst]:.3g}, compared with {latest[best]:.3g} in "
            f"{best.removeprefix('gradient/')}.",
            step=steps,
            tensor=worst,
            subject=_COLLECTION,
            evidence={
                "abs_mean": latest[worst],
                "threshold": self.threshold,
                "liveliest": latest[best],
                "tensors": sorted(names, key=lambda name: latest[name])[:_MAX_LISTED],
                "count": len(names),
                "of": len(means),
            },
        )


def _lasting_names(streaks: Streaks, far_counts: State) -> set[str]:
    """Return the weights whose gradient has been small for long enough."""
    sooner = streaks.lasting(LIMITS.far_steps_in_a_row, LIMITS.far_span_steps)
    names = {name for name in sooner if far_counts.get(name, 0) >= LIMITS.far_steps_in_a_row}
    return names | set(streaks.lasting(LIMITS.steps_in_a_row, LIMITS.span_steps))


def _nonzero_means(tensors: Sequence[WindowTensor]) -> FloatArray:
    """Return the mean absolute gradients over elements that are nonzero and finite."""
    excluded = [column_of_all(tensors, name) for name in ("zeros", "nans", "infinities")]
    nonzero = column_of_all(tensors, "count") - sum(excluded)
    absolutes = column_of_all(tensors, "sum_of_absolutes")
    return np.where(nonzero > 0, absolutes / np.maximum(nonzero, 1), 0.0)


def _layer(tensor: WindowTensor) -> str:
    return tensor.name.removeprefix("gradient/")
