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
    min_samples: int = 60  # with a class, in these inspections
    entropy_share: float = 0.98  # of the loss of a model that only knows the class frequencies
    sigmas: float = 2.0  # standard errors of that loss
    # of the labels' variance; below it, all predictions are the same
    same_variance_share: float = 0.02
    broadcast_variance_share: float = 0.25  # likewise, if shapes broadcast
    # of the labels' variance; predictions vary more and the loss is smaller
    informed_share: float = 0.5


LIMITS = Calibration()


class Predictions:
    """The latest predictions of a model, and their labels."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take(self, window: Window) -> None:
        """Adds what was seen in a window."""
        counts = self._state.of("counts")
        for observation in window.observations("class-hits"):
            if observation.mode != Mode.TRAIN.value:
                continue
            count = observation.facts
            for name, (right, wrong) in count.items():
                counts[name] = counts.get(name, 0) + right + wrong
            samples = sum(right + wrong for right, wrong in count.values())
            self._add("hits", [[sum(right for right, _ in count.values()), samples]])
            self._add("classes", [count])
        if "hits" in self._state:
            return  # where there are classes, their names are no numbers to compare
        answers, labels = window.tensors("predictions"), window.tensors("labels")
        if len(answers) == len(labels) == 1 and _is_of_numbers(labels[0]):
            self._add("variances", _variances(answers[0], labels[0]))
            if _are_crosswise(_shape(answers[0]), _shape(labels[0])):
                self._state["shapes"] = [list(_shape(answers[0])), list(_shape(labels[0]))]

    def are_informative(self, loss: float) -> bool:
        """Whether they are surely better than one answer to everything would be.

        Args:
            loss: Which they lead to.
        """
        right, samples = self._hits()
        if samples >= LIMITS.min_samples:
            return right / samples > self._luck(samples, 0.1, 5.0)
        inspections = self._state.get("variances", [])
        if len(inspections) < LIMITS.min_inspections or self._are_alike(LIMITS.informed_share):
            return False
        return bool(loss < LIMITS.informed_share * median_of([theirs for _, theirs in inspections]))

    def are_uninformative(self, loss: float) -> bool:
        """Whether they are no better than one answer to everything would be.

        Args:
            loss: Which they lead to.
        """
        right, samples = self._hits()
        if samples >= LIMITS.min_samples:
            is_luck = right / samples <= self._luck(samples, 0.03, 3.0) and self._is_guessed(loss)
            return is_luck and not self._tell_classes_apart()
        return self._are_alike(LIMITS.same_variance_share)

    def broadcast_shapes(self) -> tuple[str, str] | None:
        """The shapes of answers and labels, where each answer is compared with every label."""
        if "shapes" not in self._state or not self._are_alike(LIMITS.broadcast_variance_share):
            return None
        answers, labels = self._state["shapes"]
        return _in_words(answers), _in_words(labels)

    def _tell_classes_apart(self) -> bool:
        """Whether classes are predicted better than by chance, on average.

        With class weights, accuracy may be lower than that of always predicting one class.
        """
        result: dict[str, list[float]] = {}
        for label_class in self._state.get("classes", []):
            for name, (right, wrong) in label_class.items():
                totals = result.setdefault(name, [0.0, 0.0])
                result[name] = [totals[0] + right, totals[1] + right + wrong]
        shares = [(right / samples, samples) for right, samples in result.values() if samples]
        error = math.sqrt(sum(0.25 / samples for _, samples in shares)) / len(shares)
        mean = sum(share for share, _ in shares) / len(shares)
        return mean > 1 / len(shares) + max(0.1, 3 * error)

    def _add(self, name: str, rows: list[Any]) -> None:
        self._state[name] = (self._state.get(name, []) + rows)[-LIMITS.recent_inspections :]

    def _hits(self) -> tuple[float, float]:
        inspections = self._state.get("hits", [])
        return sum(right for right, _ in inspections), sum(samples for _, samples in inspections)

    def _luck(self, samples: float, value: float, sigmas: float) -> float:
        """The highest accuracy that may be luck."""
        counts = self._state.of("counts").values()
        chance = max(counts) / sum(counts)
        return float(chance + max(value, sigmas * math.sqrt(chance * (1 - chance) / samples)))

    def _is_guessed(self, loss: float) -> bool:
        """Whether a loss is that of predicting class frequencies only.

        Frequencies are known from a sample, so rare classes may be more frequent than in it.
        """
        counts = [count for count in self._state.of("counts").values() if count]
        total = sum(counts)
        costs = [(count / total, -math.log(count / total)) for count in counts]
        entropy = sum(share * cost for share, cost in costs)
        variance = sum(share * (cost - entropy) ** 2 for share, cost in costs)
        return bool(
            loss >= LIMITS.entropy_share * entropy + LIMITS.sigmas * math.sqrt(variance / total) > 0
        )

    def _are_alike(self, share: float) -> bool:
        inspections = self._state.get("variances", [])
        if len(inspections) < LIMITS.min_inspections:
            return False
        return median_of([mine / theirs for mine, theirs in inspections]) < share


def _variances(answers: WindowTensor, labels: WindowTensor) -> list[list[float]]:
    """Those of answers and labels, at the steps at which both were looked at."""
    label_variances = dict(labels.reduction("variance"))
    return [
        [mine, label_variances[step]]
        for step, mine in answers.reduction("variance")
        if label_variances.get(step, 0.0) > 0 and math.isfinite(mine)
    ]


def _is_of_numbers(labels: WindowTensor) -> bool:
    return labels.info is not None and labels.info.dtype.startswith(("float", "bfloat"))


def _shape(tensor: WindowTensor) -> tuple[int, ...]:
    return tensor.info.shape if tensor.info is not None else ()


def _are_crosswise(item: Sequence[int], second: Sequence[int]) -> bool:
    """Whether one of them is a column and the other a row of as many: that makes a square."""
    long, short = sorted((tuple(item), tuple(second)), key=len, reverse=True)
    return len(short) == 1 and short[0] > 1 and long == (short[0], 1)


def _in_words(shape: Sequence[int]) -> str:
    return f"({', '.join(str(item) for item in shape)})"
