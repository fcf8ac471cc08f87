"""Time that training steps spend waiting for data."""

from dataclasses import dataclass

import numpy as np

from sonde.analyze.durations import time_percent
from sonde.clock import NANOSECONDS
from sonde.read.loading import read_iterator_starts
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase

DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Which steps count for data waits.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches


LIMITS = Calibration()


@dataclass(frozen=True)
class Waits:
    """The steps of one worker that count for data waits."""

    worker: int
    steps: IntArray
    starts_ns: IntArray
    seconds: FloatArray  # waiting time of each step
    step_seconds: FloatArray  # duration of each step, without evaluation and checkpoints
    batches: IntArray  # number of batches in each step

    @classmethod
    def of(cls, table: StepTable) -> "Waits":
        """Select the steps of a table, without the first steps of the job and profiled steps."""
        is_usable = ~table.is_profiled & (table.steps >= LIMITS.settling_steps)
        step_ns = table.durations_ns
        for phase in DELIBERATE:
            step_ns = step_ns - table.phases_ns[phase]
        waited_ns = table.phases_ns[Phase.DATA_WAIT.value]
        columns = (waited_ns / NANOSECONDS, step_ns / NANOSECONDS)
        result = cls(table.worker, table.steps, table.starts_ns, *columns, table.micro_steps)
        return result if is_usable.all() else result.take(is_usable)

    @property
    def percent(self) -> float:
        """The share of step time spent waiting."""
        return time_percent(self.seconds, self.step_seconds)

    def take(self, is_selected: BoolArray) -> "Waits":
        """Return the selected steps."""
        return Waits(
            self.worker,
            self.steps[is_selected],
            self.starts_ns[is_selected],
            self.seconds[is_selected],
            self.step_seconds[is_selected],
            self.batches[is_selected],
        )

    def without_starts(self, window: Window) -> "Waits":
        """Drop the steps that wait for the first batch of each loader process of an iterator."""
        time_range = TimeRange(window.start_ns, window.end_ns + 1)
        is_first = np.zeros(len(self.steps), dtype=np.bool_)
        ends_ns = self.starts_ns + np.round(self.step_seconds * NANOSECONDS).astype(np.int64)
        for time_ns, facts in read_iterator_starts(window.data.worker(self.worker), time_range):
            first = int(np.searchsorted(ends_ns, time_ns))
            is_first[first : first + max(1, facts.processes)] = True
        return self.take(~is_first)

    def without_longest(self) -> "Waits":
        """Drop the step that waits longest: DataLoaderStall reports single stalls."""
        if not len(self.steps):
            return self
        return self.take(np.arange(len(self.steps)) != self.seconds.argmax())
