"""Losses of batches, which Keras adds to a running mean without reporting them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mean:
    """A running mean after a batch, perhaps not computed yet."""

    step: int
    time_ns: int
    value: Any  # a number on the device


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """The mean loss of the samples since the previous batch whose mean was noted."""

    step: int
    time_ns: int
    value: float


class RunningMeans:
    """Turns the running means of an epoch into the losses of its batches, in bulk."""

    def __init__(self) -> None:
        self._means: list[Mean] = []
        self._sizes: list[int] = []  # batches that each mean adds to the previous one
        self._sum = self._weight = 0.0  # of the batches before these
        self._batch_weight = 0.0  # of a full batch

    def restart(self) -> None:
        """Begin an epoch, for which Keras resets its means."""
        self.forget()
        self._sum = self._weight = 0.0

    def forget(self) -> None:
        """Drop what was not read."""
        self._means.clear()
        self._sizes.clear()

    def add(self, mean: Mean, batches: int = 1) -> None:
        """Note the mean after a batch.

        Args:
            mean: The mean.
            batches: Batches since the previous mean.
        """
        self._means.append(mean)
        self._sizes.append(batches)

    def __len__(self) -> int:
        return len(self._means)

    def read(self, weight: float | None, to_number: Callable[[Any], float]) -> list[BatchLoss]:
        """The losses of the batches noted since the previous call.

        Args:
            weight: The weight of everything in the last mean, usually a number of samples; None
                if it cannot be read.
            to_number: Reads a number from the device.
        """
        means, sizes, losses = self._means, self._sizes, list[BatchLoss]()
        self._means, self._sizes = [], []
        for mean, total in zip(means, self._totals(sizes, weight), strict=True):
            value = to_number(mean.value)
            added = total - self._weight
            is_first = not self._weight or added <= 0  # exact, unlike a difference
            loss = value if is_first else (value * total - self._sum) / added
            self._sum, self._weight = value * total, total
            losses.append(BatchLoss(mean.step, mean.time_ns, loss))
        return losses

    def read_each(self, to_number: Callable[[Any], float]) -> list[BatchLoss]:
        """The losses of the batches, of a model that reports each loss itself."""
        means = self._means.copy()
        self.forget()
        return [BatchLoss(mean.step, mean.time_ns, to_number(mean.value)) for mean in means]

    def _totals(self, sizes: Sequence[int], weight: float | None) -> list[float]:
        """The weight of everything in each mean: all batches are full, except perhaps the last."""
        if not sizes:
            return []
        batches = sum(sizes)
        added = 0.0 if weight is None else weight - self._weight
        if not self._batch_weight:
            self._batch_weight = added / batches if added > 0 else 1.0
        last = self._batch_weight * sizes[-1]
        if added > 0:
            remainder = added - self._batch_weight * (batches - sizes[-1])
            if 0 < remainder <= last:
                last = remainder
            else:  # batches of several sizes
                self._batch_weight = added / batches
                last = self._batch_weight * sizes[-1]
        totals, total = [], self._weight
        for size in sizes[:-1]:
            total += self._batch_weight * size
            totals.append(total)
        return [*totals, total + last]
