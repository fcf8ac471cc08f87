"""Which datapoints of the machine count, and the windows that they fill.

A datapoint is a row: its time, then its values. `patience` skips the start of a job; calibrated,
only the time between the first and the last training step counts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sonde.read.window import Samples, Window
from sonde.rules._rule import State

Values = npt.NDArray[np.float64]
Instants = npt.NDArray[np.int64]
Rows = list[list[float]]

_WITHOUT_STEPS = 1000  # datapoints that are skipped where nobody knows when training begins


@dataclass(frozen=True)
class Counting:
    """Says which datapoints count."""

    patience: int | Literal["auto"]
    is_classic: bool

    def begin(self, window: Window, state: State) -> None:
        """Keeps from when to when training goes; a new leg begins anew."""
        training = state.of("training")
        if training.get("leg") != window.leg.number:  # what was left of the last one was its end
            state.of("pending").clear()
            training.clear()
            training["leg"] = window.leg.number
        for table in window.steps():
            training.setdefault("began_ns", int(table.starts_ns.min()))
            training["until_ns"] = max(training.get("until_ns", 0), int(table.ends_ns.max()))

    def take(self, state: State, name: str, times_ns: Instants, *columns: npt.NDArray[Any]) -> Rows:
        """What counts of a subject's datapoints, as far as that is known by now."""
        pending: Rows = state.of("pending").setdefault(name, [])
        values = (one.tolist() for one in columns)
        pending += map(list, zip(times_ns.tolist(), *values, strict=True))
        training = state.of("training")
        if self.patience == "auto" and "until_ns" in training:
            until_ns = pending[-1][0] if self.is_classic and pending else training["until_ns"]
            first = bisect_left(pending, training["began_ns"], key=itemgetter(0))
            end = bisect_right(pending, until_ns, key=itemgetter(0))
            counted, pending[:] = pending[first:end], pending[end:]
            return counted
        skipped = _WITHOUT_STEPS if self.patience == "auto" else int(self.patience)
        passed = state.of("skipped")
        left = max(0, skipped - passed.get(name, 0))
        if self.patience == "auto" and len(pending) <= left:
            return []  # a first step may still come, and then what follows it counts
        counted = pending[left:]
        passed[name] = passed.get(name, 0) + min(left, len(pending))
        pending.clear()
        return counted


def full_windows(subject: State, counted: Rows, size: int) -> Iterator[Values]:
    """Windows of so many datapoints, as they become full: one row each, the time first."""
    buffer = subject.get("buffer", []) + counted
    while len(buffer) >= size:
        full, buffer = buffer[:size], buffer[size:]
        subject["windows"] = subject.get("windows", 0) + 1
        yield np.array(full, dtype=np.float64)
    subject["buffer"] = buffer


def window_means(subject: State, counted: Rows, size: int) -> Rows:
    """The means of windows of so many datapoints, as they become full: the mean time first."""
    buffer = subject.get("buffer", []) + counted
    count = len(buffer) // size
    subject["windows"] = subject.get("windows", 0) + count
    subject["buffer"] = buffer[count * size :]
    full = np.array(buffer[: count * size], dtype=np.float64)
    means: Rows = full.reshape(count, size, -1).mean(axis=1).tolist() if count else []
    return means


def datapoints_of(subject: State, size: int) -> int:
    """How many datapoints have counted so far."""
    return int(subject.get("windows", 0)) * size + len(subject.get("buffer", []))


def values_at(samples: Samples, times_ns: Instants) -> Values:
    """The last known value at each instant; NaN before the first."""
    places = np.searchsorted(samples.times_ns, times_ns, side="right") - 1
    return np.where(places >= 0, samples.values[np.maximum(places, 0)], np.nan)
