"""CPUContention: other processes on the machine take the cores that the job needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_WAIT = "process_tree.cpu_wait_percent"
_JOB = "process_tree.cpu_percent"  # of one core
_MACHINE = "cpu.utilization_percent"
_THROTTLED = "cgroup.throttled_percent"
_FULL = 90.0  # percent of all cores: below that there is a core for everybody
_OTHERS = 25.0  # percent of all cores: less is the system's own work
_IN_A_ROW = 2  # windows
_LEAST_SAMPLES = 5
_SLOWED = 1.5  # times the usual step: then it is a warning,
_LASTING = 12  # windows in a row, a minute: a short crowd needs nobody's attention
_LEAST_STEPS = 10
_HISTORY = 32  # windows without contention that tell the usual step


@dataclass(frozen=True)
class _Load:
    """Who used the cores of one node in one window."""

    node: str
    wait: float  # percent of the time that the job wanted a core
    job: float  # percent of all cores
    others: float
    throttled: float  # percent of the periods of the container's quota


class CPUContention(Rule):
    """Other processes on the machine, or the container's CPU quota, keep the job from its cores.

    Why it matters: the job is slow, and nothing in the training is to blame.
    How it decides: for 10 seconds in a row, the job's main threads spend more than `threshold`
    percent of the time they want a core waiting for one, while 90% of all cores are busy and
    processes outside of the job use at least 25% of them; or the container's quota stops the job
    in more than `threshold` percent of the scheduler's periods. It is a warning where that lasts
    for a minute and training steps take 1.5 times as long as before, else advice.
    What to do: move the job or the other processes to another machine, reserve cores for the job
    (`taskset`, a CPU request), or raise the container's CPU limit.
    """

    threshold: Percent = 30.0

    needs = (Metric(_WAIT),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 5.0
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = (
        *("ThroughputDrop", "StepOutlier", "Straggler", "CPUBottleneck", "HotFunction"),
        *("DataLoaderStarvation", "DataLoaderStall", "BatchSize", "LowGPUUtilization"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares what the job and the others use, node by node."""
        begin_leg(window, state)
        for load in _loads(window):
            own = state.of("nodes", load.node)
            own["seen"] = own.get("seen", 0) + 1
            seconds = _step_seconds(window, load.node)
            is_full = load.job + load.others >= _FULL and load.others >= _OTHERS
            is_waiting = is_full and load.wait > self.threshold
            if not is_waiting and load.throttled <= self.threshold:
                own["in_a_row"] = 0
                if seconds is not None and load.wait <= self.threshold / 2:
                    own["usual"] = [*own.get("usual", []), seconds][-_HISTORY:]
                continue
            own["in_a_row"] = own.get("in_a_row", 0) + 1
            if own["in_a_row"] >= _IN_A_ROW:
                yield self._found(load, seconds, own, is_waiting=is_waiting)

    def lacks(self, state: State) -> str | Shortfall:
        """How much time is missing."""
        seen = max((one.get("seen", 0) for one in state.of("nodes").values()), default=0)
        return "" if seen >= _IN_A_ROW else Shortfall(5 * seen, 5 * _IN_A_ROW, DataUnit.SECONDS)

    def _found(
        self, load: _Load, seconds: float | None, state: State, *, is_waiting: bool
    ) -> Finding:
        usual = float(np.median(state["usual"])) if state.get("usual") else None
        times = seconds / usual if seconds is not None and usual else None
        message = (
            f"The job waits for a core {load.wait:.0f}% of the time it wants one: processes "
            f"outside of the job use {load.others:.0f}% of the CPU of {load.node}, the job "
            f"{load.job:.0f}%."
        )
        if not is_waiting:
            message = (
                f"The container's CPU quota stops the job on {load.node} in "
                f"{load.throttled:.0f}% of the scheduler's periods."
            )
        is_slow = times is not None and times >= _SLOWED
        if is_slow:
            message += f" Steps take {times:.1f} times as long as before."
        is_felt = is_slow and state["in_a_row"] >= _LASTING
        return self.finding(
            message,
            severity=Severity.WARNING if is_felt else Severity.INFO,
            node=load.node,
            subject=load.node,
            evidence={
                "wait_percent": load.wait,
                "others_percent": load.others,
                "job_percent": load.job,
                "throttled_percent": load.throttled,
                "times_usual_step": times,
            },
        )


def _loads(window: Window) -> Iterator[_Load]:
    """The load of each node on which enough was measured."""
    waits = _means(window, _WAIT)
    jobs, machines, quotas = (_means(window, one) for one in (_JOB, _MACHINE, _THROTTLED))
    for node, (wait, count) in waits.items():
        cores = sum(one.node == node and bool(one.device) for one in window.system(_MACHINE))
        if count < _LEAST_SAMPLES or node not in jobs or node not in machines or not cores:
            continue
        job = jobs[node][0] / cores
        others = max(0.0, machines[node][0] - job)
        yield _Load(node, wait, job, others, quotas.get(node, (0.0, 0))[0])


def _means(window: Window, metric: str) -> dict[str, tuple[float, int]]:
    """The mean of a metric of whole nodes, and of how many samples."""
    return {
        one.node: (float(one.values.mean()), len(one))
        for one in window.system(metric)
        if not one.device
    }


def _step_seconds(window: Window, node: str) -> float | None:
    """How long the middle step of a node's workers takes; None where too few tell it."""
    tables = [one for one in window.steps() if window.leg.node_of(one.worker) == node]
    durations = [one.durations_ns[~one.is_profiled] for one in tables]
    together = np.concatenate(durations or [np.empty(0, np.int64)])
    return float(np.median(together)) / NANOSECONDS if len(together) >= _LEAST_STEPS else None
