"""Straggler: one worker is slower than the others, and they wait for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.stragglers import SlowWorker, slowest_worker
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import IntArray
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Count, Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

# Phases in which a worker never waits for other workers. The forward pass is checked only if these
# do not explain the difference: it may gather parameters from other workers.
_INDEPENDENT_PHASES = (Phase.DATA_WAIT.value, Phase.HOST_TO_DEVICE.value, Phase.CHECKPOINT.value)
_FORWARD = Phase.FORWARD.value
# Independent phases without a device; with one, the host may wait for the device in them.
_INDEPENDENT_WITHOUT_DEVICE = (Phase.BETWEEN.value, Phase.OPTIMIZER.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Straggler.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches
    min_steps: int = 20  # common to all workers
    min_seconds: float = 0.0008  # per step; worker 0 may log every step
    min_share: float = 0.8  # of the steps, in which the same worker is the slowest


LIMITS = Calibration()


class Straggler(Rule):
    """One worker is consistently slower than the others at the same steps.

    Why it matters: All workers wait for the slowest one at every step.
    How it decides:
    - In `in_a_row` windows of 50 steps, the same worker takes more than `threshold` percent of a
      step, and 0.8 ms, longer than the median of the others, in 80% of the steps.
    - Only phases without waiting for other workers count: loading, transfers, checkpoints and the
      forward pass; without a GPU also the optimizer and the time between phases, and the forward
      pass counts twice to include the backward pass.
    - The first 10 steps, evaluation and profiled steps do not count. Not applied to jobs with one
      worker.
    What to do: Look at the reported phase on that worker: its share of the data, its disk, its GPU
    (`sonde status`: clocks, temperature), other processes on its node. Or give it less work.
    """

    threshold: Percent = 10.0
    in_a_row: Count = 3

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 3
    explains: ClassVar[tuple[str, ...]] = ("LoadBalancing", "LowGPUUtilization", "ThroughputDrop")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the workers at the steps that all of them have."""
        begin_attempt(window, state)
        tables = window.steps()
        state["workers"] = max(state.get("workers", 0), len(tables))
        steps = _common_steps(tables)
        if len(tables) < 2 or len(steps) < LIMITS.min_steps:
            return
        state["windows"] = state.get("windows", 0) + 1
        state["steps"] = state.get("steps", 0) + len(steps)
        devices = {life.info.rank: life.info.device for life in window.attempt.lives}
        slow = self._slow(tables, steps, on_device="cpu" not in devices.values())
        if slow is None or slow.worker != state.get("worker"):
            state |= {"run": 0, "lost": 0.0, "since": int(steps[0])}
        state["worker"] = None if slow is None else slow.worker
        if slow is not None:
            state["run"] += 1
            state["lost"] += slow.excess * len(steps)
            if state["run"] >= self.in_a_row:
                yield self._finding(window, slow, steps, tables, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many windows are missing."""
        if state.get("windows", 0) >= self.in_a_row:
            return ""
        needed = self.window_steps * self.in_a_row
        return Shortfall(state.get("steps", 0), needed, DataUnit.WORKER_STEPS)

    def unfit(self, state: State) -> str:
        """Jobs with one worker."""
        return "the job has only one worker" if state.get("workers", 0) == 1 else ""

    def _slow(
        self, tables: Sequence[StepTable], steps: IntArray, *, on_device: bool
    ) -> SlowWorker | None:
        phases, total = {}, []
        for table in tables:
            indices = np.searchsorted(table.steps, steps)
            phases[table.worker] = {
                name: item[indices] / NANOSECONDS for name, item in table.phases_ns.items()
            }
            total.append(float(np.median(table.durations_ns[indices])) / NANOSECONDS)
        minimum = max(LIMITS.min_seconds, self.threshold / 100 * float(np.median(total)))
        named = set.intersection(*(set(phase) for phase in phases.values())) - set(Phase)
        own_phases = (*_INDEPENDENT_PHASES, *sorted(named))
        repeated = () if on_device else (_FORWARD,)
        for alone in (
            own_phases,
            (*own_phases, _FORWARD, *(() if on_device else _INDEPENDENT_WITHOUT_DEVICE)),
        ):
            result = slowest_worker(phases, alone, minimum, repeated)
            if result is not None and result.share >= LIMITS.min_share:
                return result
        return None

    def _finding(
        self,
        window: Window,
        slow: SlowWorker,
        steps: IntArray,
        tables: Sequence[StepTable],
        state: State,
    ) -> Finding:
        life = next(
            (
                worker_life
                for worker_life in window.attempt.lives
                if worker_life.info.rank == slow.worker
            ),
            None,
        )
        node = None if life is None else life.info.node
        other_workers = len(tables) - 1
        where = f" on {node}" if node else ""
        waiting = (
            "the other worker waits" if other_workers == 1 else f"{other_workers} workers wait"
        )
        on_gpu = life is not None and life.info.is_on_gpu
        hours = {"gpu_hours_lost": other_workers * state["lost"] / 3600} if on_gpu else {}
        return self.finding(
            f"Worker {slow.worker}{where} takes {format_duration(slow.excess)} longer per step "
            f"than the others, mostly in phase {slow.phase}; {waiting} for it.",
            step=(int(state["since"]), int(steps[-1])),
            worker=slow.worker,
            node=node,
            evidence={
                "phase": slow.phase,
                "seconds_per_step_to_win": slow.excess,
                "lost_seconds": state["lost"],
                "slowest_in_percent_of_steps": 100 * slow.share,
                **hours,
            },
        )


def _common_steps(tables: Sequence[StepTable]) -> IntArray:
    """Return the usable steps that all workers have."""
    result: IntArray | None = None
    for table in tables:
        is_usable = ~table.is_profiled & (table.steps >= LIMITS.settling_steps)
        is_usable &= table.phases_ns[Phase.EVALUATION.value] == 0
        usable_steps = table.steps[is_usable]
        result = (
            usable_steps
            if result is None
            else np.intersect1d(result, usable_steps, assume_unique=True)
        )
    return np.empty(0, dtype=np.int64) if result is None else result
