"""IdleGPU: a GPU is allocated but idle for minutes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.rules._parameters import Percent, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.job_gpus import holds_memory, record_job_memory
from sonde.rules.measures.system_samples import Instants

_METRIC = "gpu.utilization_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of IdleGPU.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_steps_inside: int = 2  # one step may start with a pause and one may end with it


LIMITS = Calibration()


class IdleGPU(Rule):
    """A GPU is allocated but idle for minutes.

    Why it matters: You pay for it, and no one else can use it.
    How it decides:
    - A GPU's utilization stays below `threshold` percent for longer than `minutes`: before the
      first training step, after the last one, or in between.
    - Only GPUs that the job uses count: it holds memory on them, or, if the driver does not report
      that, they have been busy.
    What to do: Prepare data before the GPU is allocated. Evaluate, save and upload elsewhere or in
    parallel. Exit the process, or free the GPU, when training is done.
    """

    minutes: Positive = 5.0
    threshold: Percent = 1.0

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 30.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LowGPUUtilization",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the idle time of every GPU."""
        record_job_memory(window, state)
        training = _update_training(window, state)
        for samples in window.system(_METRIC):
            gpu = state.of("gpus", f"{samples.node}/{samples.device}")
            if gpu.get("attempt") != window.attempt.number:
                gpu["attempt"], gpu["since_ns"] = window.attempt.number, None
            if holds_memory(samples, state) is not False:
                yield from self._ended_intervals(samples, gpu, training)
                if holds_memory(samples, state) or gpu.get("was_busy"):
                    yield from self._idle(samples, gpu, training)

    def _ended_intervals(
        self, samples: Samples, gpu: State, training: "_Training"
    ) -> Iterator[Finding]:
        """Update the open idle interval, and report idle intervals that end in the window."""
        is_busy, times_ns = samples.values >= self.threshold, samples.times_ns
        edges = [0, len(times_ns)]
        if not is_busy.all():
            edges[1:1] = (np.flatnonzero(np.diff(is_busy)) + 1).tolist()
        for first, end in pairwise(edges):
            if is_busy[first]:
                gpu["was_busy"] = True
                if gpu["since_ns"] is not None:
                    gpu["until_ns"] = int(times_ns[first])
                    yield from self._idle(samples, gpu, training)
                    yield self.recovered(f"{samples.node}/{samples.device}")
                gpu["since_ns"] = None
                continue
            begin_ns, gpu["until_ns"] = int(times_ns[first]), int(times_ns[end - 1])
            if gpu["since_ns"] is None:
                gpu["since_ns"], gpu["steps"] = begin_ns, 0
                gpu["after"] = training.last_before(begin_ns)
            gpu["steps"] += training.count(begin_ns, gpu["until_ns"])

    def _idle(self, samples: Samples, gpu: State, training: "_Training") -> Iterator[Finding]:
        if gpu["since_ns"] is None:
            return
        seconds = (gpu["until_ns"] - gpu["since_ns"]) / NANOSECONDS
        if seconds <= 60 * self.minutes:
            return
        where = f"after training step {gpu['after']}"
        if training.seconds_before(gpu["since_ns"], gpu["until_ns"]) > seconds / 2:
            where = "before the first training step"
        elif gpu["steps"] > LIMITS.max_steps_inside:
            where = f"during {gpu['steps']} training steps"
        yield self.finding(
            f"{samples.device} on {samples.node} was idle for {format_duration(seconds)} {where} "
            "while allocated to the job.",
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}/{samples.device}",
            time_ns=(gpu["since_ns"], gpu["until_ns"]),
            evidence={"lost_seconds": seconds, "gpu_hours_lost": seconds / 3600, "where": where},
        )


@dataclass(frozen=True)
class _Training:
    """The training steps of a window, and earlier ones."""

    starts_ns: Instants
    ends_ns: Instants
    steps: Instants
    state: State  # of this attempt: began_ns, step

    def seconds_before(self, first_ns: int, last_ns: int) -> float:
        """Return how many seconds of an interval are before the first step."""
        began_ns = int(self.state.get("began_ns", last_ns))
        return (min(last_ns, began_ns) - first_ns) / NANOSECONDS

    def last_before(self, time_ns: int) -> int | None:
        """Return the last step that had ended by a time, or None if none had."""
        count = int(np.searchsorted(self.ends_ns, time_ns, side="right"))
        return int(self.steps[count - 1]) if count else self.state.get("before")

    def count(self, first_ns: int, last_ns: int) -> int:
        """Return how many steps started within an interval."""
        first, end = np.searchsorted(self.starts_ns, (first_ns, last_ns))
        return int(end - first)


def _update_training(window: Window, state: State) -> _Training:
    """Return the training steps of the window, and update the state of the attempt."""
    training_state = state.of("training")
    if training_state.get("attempt") != window.attempt.number:
        training_state.clear()
        training_state["attempt"] = window.attempt.number
    training_state["before"] = training_state.get("step")
    for table in window.steps()[:1]:
        training_state.setdefault("began_ns", int(table.starts_ns[0]))
        training_state["step"] = int(table.steps[-1])
        return _Training(table.starts_ns, table.ends_ns, table.steps, training_state)
    empty = np.empty(0, dtype=np.int64)
    return _Training(empty, empty, empty, training_state)
