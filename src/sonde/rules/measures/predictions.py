"""Whether a model's predictions carry information, or are the same for every input.

Predictions and labels are inspected periodically; the latest inspections are stored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sonde.analyze.robust import median_of
from sonde.read.window import Window, WindowTensor
from sonde.records.need import Need, Observations, Statistics
from sonde.records.observations.batches import ClassHits
from sonde.records.step import Mode
from sonde.rules._rule import State

NEEDS: tuple[Need, ...] = (
    Observations("class-hits"),
    Statistics("labels"),
    Statistics("predictions"),
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for predictions that carry no information.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    recent_inspections: int = 5
    min_inspections: int = 3
    min_samples: int = 60  # with class labels, in these inspections
    # accuracy above always predicting the most frequent class, as a margin and in standard errors
    informative_margin: float = 0.1
    informative_sigmas: float = 5.0
    uninformative_margin: float = 0.03
    uninformative_sigmas: float = 3.0
    # mean accuracy per class above random guessing, as a margin and in standard errors
    per_class_margin: float = 0.1
    per_class_sigmas: float = 3.0
    entropy_share: float = 0.98  # of the loss of predicting the class frequencies
    entropy_sigmas: float = 2.0  # standard errors of that loss
    same_variance_share: float = 0.02  # of the labels' variance; below, predictions are constant
    broadcast_variance_share: float = 0.25  # the same, if shapes broadcast
    # of the labels' variance; informative predictions vary more and have a smaller loss
    informed_share: float = 0.5


LIMITS = Calibration()


class Predictions:
    """The latest predictions of a model, and their labels."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take(self, window: Window) -> None:
        """Add the inspections of a window."""
        counts = self._state.of("counts")
        for observation in window.observations("class-hits"):
            if observation.mode != Mode.TRAIN.value:
                continue
            count = ClassHits.of(observation).counts
            for name, (right, wrong) in count.items():
                counts[name] = counts.get(name, 0) + right + wrong
            samples = sum(right + wrong for right, wrong in count.values())
            self._add("hits", [[sum(right for right, _ in count.values()), samples]])
            self._add("classes", [count])
        if "hits" in self._state:
            return  # classification: class indices have no meaningful variance
        predictions, labels = window.tensors("predictions"), window.tensors("labels")
        if len(predictions) == len(labels) == 1 and _is_floating_point(labels[0]):
            self._add("variances", _variances(predictions[0], labels[0]))
            if _are_broadcast(_shape(predictions[0]), _shape(labels[0])):
                self._state["shapes"] = [list(_shape(predictions[0])), list(_shape(labels[0]))]

    def are_informative(self, loss: float) -> bool:
        """Whether predictions are clearly better than a constant prediction.

        Args:
            loss: The loss of these predictions.
        """
        correct, samples = self._hits()
        if samples >= LIMITS.min_samples:
            return correct / samples > self._chance_limit(
                samples, LIMITS.informative_margin, LIMITS.informative_sigmas
            )
        inspections = self._state.get("variances", [])
        if len(inspections) < LIMITS.min_inspections or self._are_constant(LIMITS.informed_share):
            return False
        label_variance = median_of([variance for _, variance in inspections])
        return bool(loss < LIMITS.informed_share * label_variance)

    def are_uninformative(self, loss: float) -> bool:
        """Whether predictions are no better than a constant prediction.

        Args:
            loss: The loss of these predictions.
        """
        correct, samples = self._hits()
        if samples < LIMITS.min_samples:
            return self._are_constant(LIMITS.same_variance_share)
        limit = self._chance_limit(
            samples, LIMITS.uninformative_margin, LIMITS.uninformative_sigmas
        )
        is_chance = correct / samples <= limit and self._is_frequency_loss(loss)
        return is_chance and not self._has_class_accuracy()

    def broadcast_shapes(self) -> tuple[str, str] | None:
        """Return the shapes of predictions and labels if they broadcast to a square, else None.

        Each prediction is then compared with every label, so predictions become constant.
        """
        if "shapes" not in self._state or not self._are_constant(LIMITS.broadcast_variance_share):
            return None
        predictions, labels = self._state["shapes"]
        return _format_shape(predictions), _format_shape(labels)

    def _has_class_accuracy(self) -> bool:
        """Whether classes are predicted better than by chance, on average.

        With class weights, accuracy may be lower than that of always predicting one class.
        """
        totals: dict[str, list[float]] = {}
        for counts in self._state.get("classes", []):
            for name, (right, wrong) in counts.items():
                correct, samples = totals.get(name, [0.0, 0.0])
                totals[name] = [correct + right, samples + right + wrong]
        shares = [(correct / samples, samples) for correct, samples in totals.values() if samples]
        error = math.sqrt(sum(0.25 / samples for _, samples in shares)) / len(shares)
        mean = sum(share for share, _ in shares) / len(shares)
        margin = max(LIMITS.per_class_margin, LIMITS.per_class_sigmas * error)
        return mean > 1 / len(shares) + margin

    def _add(self, name: str, rows: list[Any]) -> None:
        self._state[name] = (self._state.get(name, []) + rows)[-LIMITS.recent_inspections :]

    def _hits(self) -> tuple[float, float]:
        inspections = self._state.get("hits", [])
        return sum(right for right, _ in inspections), sum(samples for _, samples in inspections)

    def _chance_limit(self, samples: float, margin: float, sigmas: float) -> float:
        """Return the highest accuracy that may be chance."""
        counts = self._state.of("counts").values()
        chance = max(counts) / sum(counts)
        return float(chance + max(margin, sigmas * math.sqrt(chance * (1 - chance) / samples)))

    def _is_frequency_loss(self, loss: float) -> bool:
        """Whether a loss is that of predicting only the class frequencies.

        The frequencies are estimated from a sample, so the loss has a standard error.
        """
        counts = [count for count in self._state.of("counts").values() if count]
        total = sum(counts)
        costs = [(count / total, -math.log(count / total)) for count in counts]
        entropy = sum(share * cost for share, cost in costs)
        variance = sum(share * (cost - entropy) ** 2 for share, cost in costs)
        error = math.sqrt(variance / total)
        limit = LIMITS.entropy_share * entropy + LIMITS.entropy_sigmas * error
        return bool(loss >= limit > 0)

    def _are_constant(self, share: float) -> bool:
        """Whether the median variance of predictions is less than a share of the labels'."""
        inspections = self._state.get("variances", [])
        if len(inspections) < LIMITS.min_inspections:
            return False
        return median_of([predicted / label for predicted, label in inspections]) < share


def _variances(predictions: WindowTensor, labels: WindowTensor) -> list[list[float]]:
    """Return the variances of predictions and labels at steps that have both."""
    label_variances = dict(labels.reduction("variance"))
    return [
        [variance, label_variances[step]]
        for step, variance in predictions.reduction("variance")
        if label_variances.get(step, 0.0) > 0 and math.isfinite(variance)
    ]


def _is_floating_point(labels: WindowTensor) -> bool:
    return labels.info is not None and labels.info.dtype.startswith(("float", "bfloat"))


def _shape(tensor: WindowTensor) -> tuple[int, ...]:
    return tensor.info.shape if tensor.info is not None else ()


def _are_broadcast(shape: Sequence[int], other_shape: Sequence[int]) -> bool:
    """Whether one shape is (N, 1) and the other (N,), which broadcast to (N, N)."""
    long, short = sorted((tuple(shape), tuple(other_shape)), key=len, reverse=True)
    return len(short) == 1 and short[0] > 1 and long == (short[0], 1)


def _format_shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"
