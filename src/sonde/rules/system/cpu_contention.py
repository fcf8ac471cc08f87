"""CPUContention: other processes on the machine take the cores that the job needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import gain_from, upper_bound
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.node_loads import WAIT, NodeLoad, node_loads
from sonde.rules.measures.training_kind import begin_attempt


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of CPUContention.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    full_percent: float = 90.0  # of all cores; below, there are cores left
    others_percent: float = 25.0  # of all cores; less is work of the operating system
    windows_in_a_row: int = 2
    slow_factor: float = 1.5  # of the median step without contention, for a warning
    lasting_windows: int = 12  # in a row (one minute), for a warning
    min_steps: int = 10
    history_windows: int = 32  # without contention, for the median step
    quiet_factor: float = 0.5  # of `threshold`; windows with longer waits have contention


LIMITS = Calibration()


class CPUContention(Rule):
    """Other processes on the machine, or the container's CPU quota, keep the job off its cores.

    Why it matters: The job is slow although nothing is wrong with the training code.
    How it decides:
    - The job's main threads spend more than `threshold` percent of their runnable time waiting for
      a core, 90% of all cores are busy, and other processes use at least 25% of them.
    - Or the container's quota throttles the job in more than `threshold` percent of the scheduling
      periods.
    - Either must hold for 10 seconds.
    - A warning if it lasts for a minute and steps take 1.5 times as long as before; otherwise
      `info`.
    What to do: Move the job or the other processes to another machine, reserve cores for the job
    (`taskset`, a CPU request), or raise the container's CPU limit.
    """

    threshold: Percent = 30.0

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(WAIT),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 5.0
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = (
        *("ThroughputDrop", "StepOutlier", "Straggler", "CPUBottleneck", "HotFunction"),
        *("DataLoaderStarvation", "DataLoaderStall", "BatchSize", "LowGPUUtilization"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the CPU usage of the job and of other processes on each node."""
        begin_attempt(window, state)
        for load in node_loads(window):
            node_state = state.of("nodes", load.node)
            node_state["seen"] = node_state.get("seen", 0) + 1
            seconds = _step_seconds(window, load.node)
            is_full = (
                load.job + load.other_processes >= LIMITS.full_percent
                and load.other_processes >= LIMITS.others_percent
            )
            is_waiting = is_full and load.wait > self.threshold
            if not is_waiting and load.throttled <= self.threshold:
                node_state["in_a_row"] = 0
                if seconds is not None and load.wait <= LIMITS.quiet_factor * self.threshold:
                    node_state["usual"] = [*node_state.get("usual", []), seconds][
                        -LIMITS.history_windows :
                    ]
                continue
            node_state["in_a_row"] = node_state.get("in_a_row", 0) + 1
            if node_state["in_a_row"] >= LIMITS.windows_in_a_row:
                yield self._finding(load, seconds, node_state, is_waiting=is_waiting)

    def lacks(self, state: State) -> str | Shortfall:
        """How much time is missing."""
        count = max((node.get("seen", 0) for node in state.of("nodes").values()), default=0)
        return (
            ""
            if count >= LIMITS.windows_in_a_row
            else Shortfall(5 * count, 5 * LIMITS.windows_in_a_row, DataUnit.SECONDS)
        )

    def _finding(
        self, load: NodeLoad, seconds: float | None, state: State, *, is_waiting: bool
    ) -> Finding:
        typical = float(np.median(state["usual"])) if state.get("usual") else None
        slowdown = seconds / typical if seconds is not None and typical else None
        message = (
            f"The job spends {format_percent(load.wait)} of its runnable time waiting for a core: "
            f"other processes use {format_percent(load.other_processes)} of the CPU of "
            f"{load.node}, the job {format_percent(load.job)}."
        )
        if not is_waiting:
            message = (
                f"The container's CPU quota throttles the job on {load.node} in "
                f"{format_percent(load.throttled)} of the scheduling periods."
            )
        is_slow = slowdown is not None and slowdown >= LIMITS.slow_factor
        if is_slow:
            message += f" Steps take {slowdown:.1f} times as long as before."
        is_lasting = is_slow and state["in_a_row"] >= LIMITS.lasting_windows
        return self.finding(
            message,
            severity=Severity.WARNING if is_lasting else Severity.INFO,
            node=load.node,
            subject=load.node,
            improvement=_improvement(load, slowdown, is_waiting=is_waiting),
            evidence={
                "wait_percent": load.wait,
                "others_percent": load.other_processes,
                "job_percent": load.job,
                "throttled_percent": load.throttled,
                "times_usual_step": slowdown,
            },
        )


def _improvement(load: NodeLoad, slowdown: float | None, *, is_waiting: bool) -> Improvement:
    """Cores of its own: steps as fast as before, or without the measured waits."""
    if slowdown is not None and slowdown > 1:
        reason = "steps of the same job were this much faster without contention."
        gain = gain_from(slowdown, (0.0, slowdown - 1, slowdown - 1), Basis.MEASURED, reason)
    else:
        percent = load.wait if is_waiting else load.throttled
        gain = upper_bound(100.0, percent, "the time that the job waits for a core was measured.")
    title, code = "cores for this job alone", "taskset --cpu-list 0-7 python train.py"
    if not is_waiting:
        title, code = "a higher CPU limit of the container", ""
    return Improvement(Bottleneck.CORES, (Remedy(title, code, gain),))


def _step_seconds(window: Window, node: str) -> float | None:
    """Return the median step duration of a node's workers, or None with too few steps."""
    tables = [table for table in window.steps() if window.attempt.node_of(table.worker) == node]
    durations = [table.durations_ns[~table.is_profiled] for table in tables]
    together = np.concatenate(durations or [np.empty(0, np.int64)])
    return float(np.median(together)) / NANOSECONDS if len(together) >= LIMITS.min_steps else None
