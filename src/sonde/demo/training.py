"""A small training job with planted faults, for `sonde demo`.

A perceptron with two hidden layers learns which of eight centers a point came from, in plain
numpy. Run it with `python -m sonde.demo.training [SECONDS]`. It uses nothing of Sonde but the
clock; everything `sonde demo` shows is measured from outside.
"""

import os
import sys
import tempfile
import threading
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from sonde.clock import SystemClock

Array = npt.NDArray[np.float64]

SECONDS = 20.0
_SEED = 7
_CLASSES, _FEATURES, _HIDDEN = 8, 64, 512
_BATCH, _EXAMPLES = 256, 16_384
_RATE = 0.02
_LINE_SECONDS = 1.0
_LEAK_BYTES_PER_SECOND = 80_000_000
_WRITE_BYTES_PER_SECOND = 60_000_000
_WAIT_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault during part of the job."""

    name: str
    start: float
    end: float
    metric: str  # the metric that shows it
    description: str

    def is_on(self, share: float) -> bool:
        """Whether the fault is active."""
        return self.start <= share < self.end


SLOW_LOADER = Fault(
    *("slow data loader", 0.25, 0.45, "process_tree.cpu_percent"),
    "training waited for each batch, so the CPU was mostly idle",
)
LEAK = Fault(
    *("memory leak", 0.5, 0.7, "process_tree.rss_bytes"),
    "unused activations were kept in memory, then released",
)
DISK_BURST = Fault(
    *("burst of disk writes", 0.75, 0.9, "process_tree.write_bytes_per_second"),
    "frequent checkpoints blocked training",
)
FAULTS = (SLOW_LOADER, LEAK, DISK_BURST)


class Perceptron:
    """Two hidden layers, ReLU and softmax, with manual gradients."""

    def __init__(self, random: np.random.Generator) -> None:
        sizes = (_FEATURES, _HIDDEN, _HIDDEN, _CLASSES)
        self.weights = [
            random.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out))
            for fan_in, fan_out in pairwise(sizes)
        ]

    def step(self, inputs: Array, labels: npt.NDArray[np.int64]) -> float:
        """One step of gradient descent; returns the loss before it."""
        outputs = [inputs]
        for weight in self.weights[:-1]:
            outputs.append(np.maximum(outputs[-1] @ weight, 0))
        scores = outputs[-1] @ self.weights[-1]
        scores -= scores.max(axis=1, keepdims=True)
        probabilities = np.exp(scores)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float(-np.log(probabilities[rows, labels] + 1e-12).mean())
        probabilities[rows, labels] -= 1
        error = probabilities / len(labels)
        for layer in reversed(range(len(self.weights))):
            gradient = outputs[layer].T @ error
            if layer:
                error = (error @ self.weights[layer].T) * (outputs[layer] > 0)
            self.weights[layer] -= _RATE * gradient
        return loss


class Faults:
    """Causes the planted faults."""

    def __init__(self, clock: SystemClock, file: BinaryIO) -> None:
        self._clock = clock
        self._file = file
        self._never_set = threading.Event()
        self._leaked: list[Array] = []
        self._seconds = clock.seconds()

    def cause(self, share: float) -> None:
        """Cause the faults that are active at this point of the job."""
        elapsed = self._clock.seconds() - self._seconds
        self._seconds = self._clock.seconds()
        if SLOW_LOADER.is_on(share):
            self._clock.wait(self._never_set, _WAIT_SECONDS)
        if LEAK.is_on(share):
            self._leaked.append(np.ones(int(elapsed * _LEAK_BYTES_PER_SECOND) // 8))
        else:
            self._leaked.clear()
        if DISK_BURST.is_on(share):
            self._file.seek(0)
            self._file.write(os.urandom(int(min(elapsed, 0.5) * _WRITE_BYTES_PER_SECOND)))
            self._file.flush()
            os.fsync(self._file.fileno())


def train(seconds: float) -> None:
    """Train for a number of seconds and print the loss."""
    clock = SystemClock()
    random = np.random.default_rng(_SEED)
    centers = random.normal(0, 1, (_CLASSES, _FEATURES))
    labels = random.integers(0, _CLASSES, _EXAMPLES)
    points = centers[labels] + random.normal(0, 3.0, (_EXAMPLES, _FEATURES))
    model = Perceptron(random)
    start = due = clock.seconds()
    step = 0
    loss = float("nan")
    with tempfile.TemporaryFile() as file:
        faults = Faults(clock, file)
        while (elapsed := clock.seconds() - start) < seconds:
            faults.cause(elapsed / seconds)
            batch = random.integers(0, _EXAMPLES, _BATCH)
            loss = model.step(points[batch], labels[batch])
            step += 1
            if clock.seconds() >= due:
                due += _LINE_SECONDS
                _print(f"step {step:6d}  loss {loss:.4f}")
    _print(f"step {step:6d}  loss {loss:.4f}  done")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    train(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
