"""VanishingGradient: what reaches a layer is too small to move it."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.read.job_data import Reals
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding
from sonde.records.need import Statistics
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._streaks import Streaks
from sonde.rules.tensors._together import by_tensor, column_of_all, steps_of_all

_COLLECTION = "gradients"
_EVERY = "every gradient"
_CUT_OFF = (
    "Look for a loss that is multiplied by 0 or masked away, clamped or rounded; for a detach() "
    "between the model and the loss; with half precision, scale the loss."
)
_IN_A_ROW = 3  # recorded steps, which are close together only at first
_SPAN = 35  # steps
_TINY = 2  # of them with a gradient that is small, and not nought
# Where it is a thousandth of what is small, two recorded steps tell the same, farther apart.
_FAR = 1e-3
_FAR_IN_A_ROW, _FAR_SPAN = 2, 70
_FIRST = 5  # recorded steps that tell how lively the gradients are at the beginning
_RATIO = 1e-3  # of the liveliest layer: below it a layer is left behind
_CONVERGED = 1e-2  # of the liveliest layer at the beginning: below it training is done
_NOUGHT = (5, 100)  # recorded steps from the first one on, and the steps that they span
_NAMED = 8


class VanishingGradient(Rule):
    """The gradients of a layer are so small that it does not learn.

    Why it matters: layers in front of it learn nothing either, and the model behaves as if it were
    shallower than it is.
    How it decides: classic fires on every recorded step at which the mean absolute gradient of a
    tensor is below the threshold. Calibrated wants three recorded steps in a row that span 35 (two
    that span 70, where it is a thousandth of what is small), counts only the elements that got a
    gradient at all (an embedding's batch has few of its words), looks at weights and not at biases
    (a bias in front of a normalization has none by construction), and compares: the layer must lie
    far behind the liveliest one, and training must not have converged as a whole. A gradient of
    exactly nought is another matter: a dead or unused layer. But where every gradient was nought
    from the beginning, for five recorded steps that span a hundred, nothing reaches any layer, and
    that is said.
    What to do: use ReLU-like activations, residual connections or normalization; initialize the
    layer for its activation; with half precision, scale the loss.
    """

    threshold: Positive = 1e-7

    needs = (Statistics(_COLLECTION),)
    window_steps: ClassVar[int] = 50

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at every gradient that was recorded."""
        tensors = window.tensors(_COLLECTION)
        if self.is_classic:
            yield from self._classic(tensors)
            return
        if tensors and not state.get("is_fed"):
            yield from self._never_fed(tensors, state)
        yield from self._calibrated(tensors, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many recorded steps are missing."""
        seen, last = int(state.get("seen", 0)), int(state.get("last", 0))
        first = int(state.get("first", last))
        if self.is_classic or (seen >= _IN_A_ROW and last - first >= _SPAN):
            return ""
        if seen < _IN_A_ROW:
            return Shortfall(seen, _IN_A_ROW, DataUnit.INSPECTIONS)
        return Shortfall(last - first, _SPAN, DataUnit.STEPS_BETWEEN)

    def _classic(self, tensors: tuple[WindowTensor, ...]) -> Iterator[Finding]:
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

    def _never_fed(self, tensors: Sequence[WindowTensor], state: State) -> Iterator[Finding]:
        """Whether no tensor has ever got any gradient but nought."""
        if (column_of_all(tensors, "zeros") < column_of_all(tensors, "count")).any():
            state["is_fed"] = True
            return
        steps = np.unique(steps_of_all(tensors))
        first, last = state.setdefault("nought_since", int(steps[0])), int(steps[-1])
        state["nought"] = state.get("nought", 0) + len(steps)
        least, span = _NOUGHT
        if state["nought"] >= least and last - first >= span:
            yield self.finding(
                f"Every gradient is exactly 0 since step {first}, in all {len(tensors)} tensors: "
                "nothing that the loss says reaches a parameter.",
                step=(first, last),
                tensor=tensors[0].name,
                subject=_EVERY,
                advice=_CUT_OFF,
                evidence={
                    "abs_mean": 0.0,
                    "threshold": self.threshold,
                    "tensors": [one.name for one in tensors[:_NAMED]],
                    "count": len(tensors),
                    "of": len(tensors),
                },
            )

    def _calibrated(self, tensors: tuple[WindowTensor, ...], state: State) -> Iterator[Finding]:
        weights = [one for one in tensors if one.is_matrix]
        if not weights:
            return
        values = _means_of_touched(weights)
        steps: list[int] = np.unique(steps_of_all(weights)).tolist()
        streaks, tiny, far = Streaks(state), state.of("tiny"), state.of("far")
        if state.get("seen", 0) >= _FIRST and not streaks and (values >= self.threshold).all():
            state["seen"], state["last"] = state["seen"] + len(steps), steps[-1]
            return  # as nearly always
        means = {
            one.name: dict(zip(one.steps.tolist(), own, strict=True))
            for one, own in by_tensor(weights, values.tolist())
        }
        small: dict[str, float] = {}
        for step in steps:
            now = {name: mean[step] for name, mean in means.items() if step in mean}
            liveliest = max(now.values())
            state["seen"] = state.get("seen", 0) + 1
            state["first"], state["last"] = state.get("first", step), step
            if state["seen"] <= _FIRST:
                state["lively"] = max(state.get("lively", 0.0), liveliest)
            is_converged = liveliest < _CONVERGED * state["lively"]
            limit = min(self.threshold, _RATIO * liveliest)
            for name, value in now.items():
                is_small = value < limit and not is_converged
                streaks.note(name, step, holds=is_small)
                tiny[name] = tiny.get(name, 0) + bool(value) if is_small else 0
                is_far = is_small and 0 < value < _FAR * limit
                far[name] = far.get(name, 0) + 1 if is_far else 0
                small[name] = value
        lasting = set(streaks.lasting(_IN_A_ROW, _SPAN))
        most = streaks.lasting(_FAR_IN_A_ROW, _FAR_SPAN)
        lasting |= {name for name in most if far.get(name, 0) >= _FAR_IN_A_ROW}
        found = [name for name in means if name in lasting]
        # nought alone is a layer that was left out, or an expert that nobody asked
        if any(tiny[name] >= _TINY for name in found):
            first = min(streaks.steps(name)[0] for name in found)
            yield self._found(found, small, means, (first, steps[-1]))

    def _found(
        self,
        names: list[str],
        small: dict[str, float],
        means: dict[str, dict[int, float]],
        steps: tuple[int, int],
    ) -> Finding:
        """One finding for all layers: they vanish together, the first ones the most."""
        worst = min(names, key=lambda name: small[name])
        best = max((name for name in means if name in small), key=lambda name: small[name])
        others = "" if len(names) == 1 else f" and {len(names) - 1} more"
        return self.finding(
            f"{worst.removeprefix('gradient/')}{others}: the mean absolute gradient is "
            f"{small[worst]:.3g}, against {small[best]:.3g} of {best.removeprefix('gradient/')}.",
            step=steps,
            tensor=worst,
            subject=_COLLECTION,
            evidence={
                "abs_mean": small[worst],
                "threshold": self.threshold,
                "liveliest": small[best],
                "tensors": sorted(names, key=lambda name: small[name])[:_NAMED],
                "count": len(names),
                "of": len(means),
            },
        )


def _means_of_touched(tensors: Sequence[WindowTensor]) -> Reals:
    """The mean absolute gradients of the elements that have one."""
    untouched = [column_of_all(tensors, name) for name in ("zeros", "nans", "infinities")]
    touched = column_of_all(tensors, "count") - sum(untouched)
    absolutes = column_of_all(tensors, "sum_of_absolutes")
    return np.where(touched > 0, absolutes / np.maximum(touched, 1), 0.0)


def _layer(tensor: WindowTensor) -> str:
    return tensor.name.removeprefix("gradient/")
