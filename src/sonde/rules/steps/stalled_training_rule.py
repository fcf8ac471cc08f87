"""StalledTrainingRule: training makes no progress although the job has not ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.window import Window
from sonde.records.arrays import FloatArray
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State

_CPU = "process_tree.cpu_percent"

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of StalledTrainingRule.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_steps: int = 10  # of any mode
    idle_percent: float = 10.0  # of a core; below, the processes are idle
    idle_seconds: float = 600.0  # a checkpoint on a slow disk may take this long
    idle_pause_factor: float = 10.0  # of the longest pause so far, if the processes are idle
    busy_pause_factor: float = 3.0  # of the longest pause so far, if they are not


LIMITS = Calibration()


class StalledTrainingRule(Rule):
    """Training has stopped making progress although the job has not ended.

    Why it matters: A hung job occupies its machines until someone notices.
    How it decides:
    - No step of any kind and no loss is recorded for `threshold` seconds or 3 times the longest
      pause so far, whichever is longer.
    - If the job's processes are idle (below 10% of a core): for 10 minutes or 10 times the longest
      pause, if that is shorter.
    - Not applied before 10 steps are done.
    - `stop_training_on_fire` stops the job, unless its name does not start with
      `training_job_name_prefix`.
    - Classic, or if you set `threshold`: for `threshold` seconds, also if training continued
      afterward.
    What to do: Check where the workers are stuck (`sonde profile`, `py-spy dump`): usually a
    collective that one of them does not reach, a loader process that died, or a lock.
    """

    threshold: Positive = 1800.0
    stop_training_on_fire: bool = False
    training_job_name_prefix: str | None = None

    section = Section.SPEED
    calibration = LIMITS
    needs = tuple(Steps(mode.value) for mode in Mode)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the time since the last step or loss, and pauses within the window."""
        if state.get("attempt") != window.attempt.number:
            state.clear()
            state.update(
                attempt=window.attempt.number, last_ns=window.attempt.start_ns, steps=0, longest=0.0
            )
        times_ns = _progress(window)
        pauses = np.diff(np.append(state["last_ns"], times_ns)) / NANOSECONDS
        if len(times_ns):
            counted = pauses if state["steps"] else pauses[1:]  # the start is not a pause
            yield from self._ended_pause(window, times_ns, counted, state)
            state["longest"] = max(float(counted.max(initial=0.0)), state["longest"])
            state["last_ns"], state["steps"] = int(times_ns[-1]), state["steps"] + len(times_ns)
            state["step"] = _last_step(window, state["last_ns"]) or state.get("step")
            state.of("cpu").clear()
            yield self.recovered("job")
            return
        if window.is_last:
            return  # the job has ended
        self._add_cpu_samples(window, state)
        silent = (window.end_ns - state["last_ns"]) / NANOSECONDS
        if silent > self._limit(state):
            yield self._finding((state["last_ns"], window.end_ns), state)

    def _ended_pause(
        self, window: Window, times_ns: Times, pauses: FloatArray, state: State
    ) -> Iterator[Finding]:
        """Report a pause that ended within the window."""
        longest = float(pauses.max(initial=0.0))
        if longest > self._limit(state):
            end_ns = int(times_ns[len(times_ns) - len(pauses) + int(pauses.argmax())])
            start_ns = end_ns - round(longest * NANOSECONDS)
            state["step"] = _last_step(window, start_ns) or state.get("step")
            yield self._finding((start_ns, end_ns), state)

    def _add_cpu_samples(self, window: Window, state: State) -> None:
        cpu = state.of("cpu")
        for samples in window.system(_CPU):
            cpu["sum"] = cpu.get("sum", 0.0) + float(samples.values.sum())
            cpu["count"] = cpu.get("count", 0) + len(samples)

    def _limit(self, state: State) -> float:
        """Return the duration in seconds above which a pause is reported."""
        if self.is_classic:
            return self.threshold
        if "threshold" in self.explicit_parameters:
            # before the first step, time for imports, data and compilation is allowed
            return self.threshold if state["steps"] else max(self.threshold, LIMITS.idle_seconds)
        if state["steps"] < LIMITS.min_steps:
            return float("inf")
        longest, cpu = float(state["longest"]), state.of("cpu")
        typical = max(self.threshold, LIMITS.busy_pause_factor * longest)
        is_idle = bool(cpu) and cpu["sum"] / cpu["count"] < LIMITS.idle_percent
        return (
            min(typical, max(LIMITS.idle_seconds, LIMITS.idle_pause_factor * longest))
            if is_idle
            else typical
        )

    def _finding(self, silence_ns: tuple[int, int], state: State) -> Finding:
        silent = (silence_ns[1] - silence_ns[0]) / NANOSECONDS
        step = state.get("step")
        last = f"the last one was {step}" if step else "none was ever recorded"
        return self.finding(
            f"No step or loss has been recorded for {format_duration(silent)}; {last}. "
            f"The longest earlier pause was {format_duration(state['longest'])}.",
            severity=Severity.CRITICAL if self.stop_training_on_fire else Severity.WARNING,
            subject="job",
            time_ns=silence_ns,
            evidence={
                "silent_seconds": silent,
                "lost_seconds": silent,
                "longest_pause_seconds": state["longest"],
                "last": step,
            },
        )


def _progress(window: Window) -> Times:
    """Return the sorted times at which steps ended and losses were recorded."""
    result = [table.ends_ns for mode in Mode for table in window.steps(mode.value)]
    result += [curve.times_ns for curve in window.losses()]
    return np.sort(np.concatenate(result)) if result else np.empty(0, dtype=np.int64)


def _last_step(window: Window, time_ns: int) -> str | None:
    """Return the last step of any mode that had ended by a time, or None if none had."""
    ended = [
        (int(table.ends_ns[index - 1]), f"{mode.value} step {int(table.steps[index - 1])}")
        for mode in Mode
        for table in window.steps(mode.value)
        if (index := int(table.ends_ns.searchsorted(time_ns, side="right")))
    ]
    return max(ended, default=(0, None))[1]
