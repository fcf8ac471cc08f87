"""Time that training steps wait for data, without the start of iterators."""

from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.loading import read_iterator_starts
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase

_DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Steps that count for data waits.

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
    seconds: FloatArray  # of waiting, step by step
    step_seconds: FloatArray  # seconds of the steps, without evaluation and checkpoints
    batches: IntArray  # of each step

    @classmethod
    def of(cls, table: StepTable) -> "Waits":
        """Those of a window, without the first ones of all and those under a profiler."""
        is_usable = ~table.is_profiled & (table.steps >= LIMITS.settling_steps)
        own_ns = table.durations_ns
        for phase in _DELIBERATE:
            own_ns = own_ns - table.phases_ns[phase]
        waited_ns = table.phases_ns[Phase.DATA_WAIT.value]
        columns = (waited_ns / NANOSECONDS, own_ns / NANOSECONDS)
        result = cls(table.worker, table.steps, table.starts_ns, *columns, table.micro_steps)
        return result if is_usable.all() else result.take(is_usable)

    def take(self, which: BoolArray) -> "Waits":
        """Some of them."""
        return Waits(
            self.worker,
            self.steps[which],
            self.starts_ns[which],
            self.seconds[which],
            self.step_seconds[which],
            self.batches[which],
        )

    def without_starts(self, window: Window) -> "Waits":
        """Without the first batch of each loader process of an iterator."""
        within = TimeRange(window.start_ns, window.end_ns + 1)
        is_first = np.zeros(len(self.steps), dtype=np.bool_)
        ends_ns = self.starts_ns + np.round(self.step_seconds * NANOSECONDS).astype(np.int64)
        for time_ns, facts in read_iterator_starts(window.data.worker(self.worker), within):
            first = int(np.searchsorted(ends_ns, time_ns))
            is_first[first : first + max(1, facts.processes)] = True
        return self.take(~is_first)

    def without_longest(self) -> "Waits":
        """Without the step that waits longest: a single stall is another matter."""
        if not len(self.steps):
            return self
        return self.take(np.arange(len(self.steps)) != self.seconds.argmax())
