"""StalledTrainingRule: training has stopped without an end."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.step import Mode
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State

_CPU = "process_tree.cpu_percent"
_STEPS = 10  # of any kind: fewer tell no pace
_IDLE = 10.0  # percent of a core: below that nobody computes or saves anything
_IDLE_SECONDS = 600.0  # a slow disk may take so long for a checkpoint
_PAUSES = 10.0  # times the longest pause so far, when nothing goes on
_BUSY_PAUSES = 3.0  # when something does

Times = npt.NDArray[np.int64]
Seconds = npt.NDArray[np.float64]


class StalledTrainingRule(Rule):
    """Training has stopped without an end: nothing new is recorded.

    Why it matters: a hung job holds its machines until somebody looks.
    How it decides: classic, or with a given threshold: no step of any kind and no loss was recorded
    for threshold seconds, whether training went on after that or not. Calibrated: for threshold
    seconds or 3 times the job's longest pause so far, whichever is longer, after its first 10
    steps; where the job's processes are idle, for 10 minutes or 10 times the longest pause.
    What to do: look where the workers stand (`sonde profile`, `py-spy dump`): mostly a collective
    that one of them does not reach, a loader process that has died, or a lock.
    """

    threshold: Positive = 1800.0
    stop_training_on_fire: bool = False

    needs = tuple(Steps(mode.value) for mode in Mode)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows what goes on, and how long nothing did."""
        if state.get("leg") != window.leg.number:
            state.clear()
            state.update(leg=window.leg.number, last_ns=window.leg.start_ns, steps=0, longest=0.0)
        times_ns = _progress(window)
        pauses = np.diff(np.append(state["last_ns"], times_ns)) / NANOSECONDS
        if len(times_ns):
            counted = pauses if state["steps"] else pauses[1:]  # the start of a job is no pause
            yield from self._earlier(window, times_ns, counted, state)
            state["longest"] = max(float(counted.max(initial=0.0)), state["longest"])
            state["last_ns"], state["steps"] = int(times_ns[-1]), state["steps"] + len(times_ns)
            state["step"] = _last_step(window, state["last_ns"]) or state.get("step")
            state.of("cpu").clear()
            yield self.recovered("job")
            return
        if window.is_last:
            return  # the job has come to its end
        self._note_work(window, state)
        silent = (window.end_ns - state["last_ns"]) / NANOSECONDS
        if silent > self._limit(state):
            yield self._found((state["last_ns"], window.end_ns), state)

    def _earlier(
        self, window: Window, times_ns: Times, pauses: Seconds, state: State
    ) -> Iterator[Finding]:
        """A standstill that is over by the window's end."""
        longest = float(pauses.max(initial=0.0))
        if longest > self._limit(state):
            end_ns = int(times_ns[len(times_ns) - len(pauses) + int(pauses.argmax())])
            start_ns = end_ns - round(longest * NANOSECONDS)
            state["step"] = _last_step(window, start_ns) or state.get("step")
            yield self._found((start_ns, end_ns), state)

    def _note_work(self, window: Window, state: State) -> None:
        cpu = state.of("cpu")
        for samples in window.system(_CPU):
            cpu["sum"] = cpu.get("sum", 0.0) + float(samples.values.sum())
            cpu["count"] = cpu.get("count", 0) + len(samples)

    def _limit(self, state: State) -> float:
        if self.is_classic:
            return self.threshold
        if (
            "threshold" in self.given
        ):  # a start is no standstill: imports, data, a first compilation
            return self.threshold if state["steps"] else max(self.threshold, _IDLE_SECONDS)
        if state["steps"] < _STEPS:
            return float("inf")
        longest, cpu = float(state["longest"]), state.of("cpu")
        usual = max(self.threshold, _BUSY_PAUSES * longest)
        is_idle = bool(cpu) and cpu["sum"] / cpu["count"] < _IDLE
        return min(usual, max(_IDLE_SECONDS, _PAUSES * longest)) if is_idle else usual

    def _found(self, silence_ns: tuple[int, int], state: State) -> Finding:
        silent = (silence_ns[1] - silence_ns[0]) / NANOSECONDS
        length = f"{silent / 60:.0f} minutes" if silent >= 2 * 60 else f"{silent:.0f} seconds"
        step = state.get("step")
        last = f"the last was {step}" if step else "there was none at all"
        return self.finding(
            f"Nothing has been recorded for {length}: no step and no loss; "
            f"{last}. The longest pause before was {state['longest']:.0f} s.",
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
    """When steps were finished and losses recorded."""
    found = [table.ends_ns for mode in Mode for table in window.steps(mode.value)]
    found += [curve.times_ns for curve in window.losses()]
    return np.sort(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


def _last_step(window: Window, time_ns: int) -> str | None:
    """The last step that had ended by then, of whatever kind."""
    ended = [
        (int(table.ends_ns[place - 1]), f"{mode.value} step {int(table.steps[place - 1])}")
        for mode in Mode
        for table in window.steps(mode.value)
        if (place := int(table.ends_ns.searchsorted(time_ns, side="right")))
    ]
    return max(ended, default=(0, None))[1]
