"""Select the system samples that count, and group them into windows of N samples.

`patience` skips samples at the start of a job. By default, only samples between the first and the
last training step count. Rules that decide early also skip what is no training: the first steps,
which compile and fill caches, and steps that mostly evaluate or save.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Samples, Window
from sonde.records.arrays import BoolArray
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import State
from sonde.rules.measures.data_waits import DELIBERATE

Values = npt.NDArray[np.float64]
Instants = npt.NDArray[np.int64]
Rows = list[list[float]]
Datapoints = tuple[npt.NDArray[Any], ...]  # times, then one array per column of values


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which samples count before the first training step.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    skipped_samples: int = 1000  # if no training step is recorded
    warm_up_steps: int = 3  # of an attempt: a compiled model compiles again in its second step
    pause_share: float = 0.5  # of a step, spent on evaluation and checkpoints
    max_pauses: int = 64  # remembered; older ones have been applied


LIMITS = Calibration()


@dataclass(frozen=True)
class SampleFilter:
    """Selects the samples that count."""

    patience: int | Literal["auto"]
    is_classic: bool
    is_early: bool = False  # also skip warm-up, evaluation and checkpoints

    def begin(self, window: Window, state: State) -> None:
        """Update the time range of training; a new attempt starts a new range."""
        training = state.of("training")
        if training.get("attempt") != window.attempt.number:
            # pending samples are from after the last step of the previous attempt
            state.of("pending").clear()
            training.clear()
            training["attempt"] = window.attempt.number
        for table in window.steps():
            first_step = training.setdefault("first_step", int(table.steps.min()))
            warm_up = LIMITS.warm_up_steps if self.is_early else 0
            starts_ns = table.starts_ns[table.steps >= first_step + warm_up]
            if len(starts_ns):
                training.setdefault("began_ns", int(starts_ns.min()))
                training["until_ns"] = max(training.get("until_ns", 0), int(table.ends_ns.max()))
            if self.is_early:
                pauses = [*training.get("pauses", []), *_pauses(table)]
                training["pauses"] = pauses[-LIMITS.max_pauses :]

    def take(
        self, state: State, name: str, times_ns: Instants, *columns: npt.NDArray[Any]
    ) -> Datapoints:
        """Return the samples of a subject that count; keep those that may count later."""
        pending = state.of("pending")
        results = [times_ns, *columns]
        if pending.get(name):
            results = list(map(np.append, zip(*pending[name], strict=True), results))
        first, end = self._counted(state, name, results[0])
        remaining = [result[end:].tolist() for result in results]
        pending[name] = list(map(list, zip(*remaining, strict=True)))
        is_counted = _is_outside(results[0][first:end], state.of("training").get("pauses", ()))
        return results[0][first:end][is_counted], *(
            result[first:end][is_counted].astype(np.float64) for result in results[1:]
        )

    def _counted(self, state: State, name: str, times_ns: Instants) -> tuple[int, int]:
        """Return the range of indices that count; samples after it are kept for later."""
        training = state.of("training")
        if self.patience == "auto" and "until_ns" in training:
            is_open = self.is_classic and len(times_ns)
            until_ns = int(times_ns[-1]) if is_open else training["until_ns"]
            end = int(times_ns.searchsorted(until_ns, side="right"))
            return min(end, int(times_ns.searchsorted(training["began_ns"]))), end
        skipped = LIMITS.skipped_samples if self.patience == "auto" else int(self.patience)
        passed = state.of("skipped")
        remaining = max(0, skipped - passed.get(name, 0))
        if self.patience == "auto" and len(times_ns) <= remaining:
            return 0, 0  # a first step may follow: only samples after it would count
        passed[name] = passed.get(name, 0) + min(remaining, len(times_ns))
        return remaining, len(times_ns)


def missing_samples(
    has: int, needed: int, patience: int | Literal["auto"], state: State
) -> str | Shortfall:
    """How many samples are missing, including those that `patience` skips; empty if none are."""
    if has >= needed:
        return ""
    if patience == "auto":
        return Shortfall(has, needed, DataUnit.SYSTEM_SAMPLES)
    skipped = max(state.of("skipped").values(), default=0)
    return Shortfall(skipped + has, patience + needed, DataUnit.SYSTEM_SAMPLES)


def _pauses(table: StepTable) -> Iterator[list[int]]:
    """Yield start and end of the steps that mostly evaluate or save a checkpoint."""
    paused_ns = sum(table.phases_ns[phase] for phase in DELIBERATE)
    is_pause = paused_ns > LIMITS.pause_share * table.durations_ns
    for start_ns, end_ns in zip(table.starts_ns[is_pause], table.ends_ns[is_pause], strict=True):
        yield [int(start_ns), int(end_ns)]


def _is_outside(times_ns: Instants, intervals: Sequence[Sequence[int]]) -> BoolArray:
    """Whether each of the sorted times is in none of the intervals, most of which are long past."""
    is_outside = np.ones(len(times_ns), dtype=np.bool_)
    if not len(times_ns):
        return is_outside
    first_ns, last_ns = int(times_ns[0]), int(times_ns[-1])
    for start_ns, end_ns in intervals:
        if start_ns <= last_ns and end_ns >= first_ns:
            is_outside &= (times_ns < start_ns) | (times_ns > end_ns)
    return is_outside


def full_windows(subject: State, counted: Datapoints, size: int) -> Iterator[Values]:
    """Yield complete windows of `size` samples, one row per sample, with the time first."""
    rows = _with_buffer(subject, counted)
    count = len(rows) // size
    for number in range(count):
        subject["windows"] = subject.get("windows", 0) + 1
        yield rows[number * size : (number + 1) * size]
    subject["buffer"] = rows[count * size :].copy()


def window_means(subject: State, counted: Datapoints, size: int) -> Rows:
    """Return the means of complete windows of `size` samples, with the mean time first."""
    rows = _with_buffer(subject, counted)
    count = len(rows) // size
    subject["windows"] = subject.get("windows", 0) + count
    subject["buffer"] = rows[count * size :].copy()
    full = rows[: count * size]
    means: Rows = full.reshape(count, size, -1).mean(axis=1).tolist() if count else []
    return means


def _with_buffer(subject: State, counted: Datapoints) -> Values:
    """Return buffered and new samples, one row each."""
    rows = np.stack([item.astype(np.float64) for item in counted], axis=1)
    buffer = np.asarray(
        subject.get("buffer", ()), dtype=np.float64
    )  # lists if the state was restored
    return np.concatenate([buffer, rows]) if len(buffer) else rows


def rows_in_seconds(times_ns: Instants, values: Values) -> Rows:
    """Return rows of time, in seconds, and value."""
    seconds = (time_ns / NANOSECONDS for time_ns in times_ns.tolist())
    return [list(row) for row in zip(seconds, values.tolist(), strict=True)]


def sample_count(subject: State, size: int) -> int:
    """Return the number of samples that have counted so far."""
    if "count" in subject:
        return int(subject["count"])
    return int(subject.get("windows", 0)) * size + len(subject.get("buffer", []))


def values_at(samples: Samples, times_ns: Instants) -> Values:
    """Return the latest value at each time; NaN before the first sample."""
    indices = samples.times_ns.searchsorted(times_ns, side="right") - 1
    if len(indices) and indices[0] >= 0:  # the common case, without a copy
        return np.asarray(samples.values[indices])
    return np.where(indices >= 0, samples.values[np.maximum(indices, 0)], np.nan)
