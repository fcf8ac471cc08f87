"""ThroughputDrop: steps have become slower permanently."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import COMPUTING_PHASES, DELIBERATE_PHASES, Phase
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.contention import (
    add_cpu_time,
    add_workload,
    cpu_time_ratio,
    has_cpu_samples,
    has_larger_workload,
    has_same_workload,
    is_contended,
    is_explained_by_waiting,
    lacks_input_sizes,
    merge_workload,
)
from sonde.rules.measures.training_kind import begin_attempt

_LOADING = (Phase.DATA_WAIT.value, Phase.HOST_TO_DEVICE.value)  # longer for larger batches


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ThroughputDrop.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches
    min_window_steps: int = 20
    history_windows: int = 64  # for the earlier level
    min_windows_before: int = 2
    # of the earlier windows; below the median, so that temporary slowdowns do not raise the level
    level_quantile: float = 0.4
    phase_share: float = 0.6  # of the added time, for a phase to be responsible
    min_seconds: float = 3.0  # lost
    short_seconds: float = 1.0  # lost, in a short job
    short_share: float = 0.2  # of the job's time, lost, in a short job
    closely_windows: int = 20  # at the start, in which every window is measured
    sample_every_windows: int = 8  # later, while steps are not slow
    recovery_windows: int = 2  # in a row
    # the patient values apply if the slowdown may be intended or caused by other processes
    patient_factor: float = 2.0
    patient_windows: int = 10
    patient_seconds: float = 120.0  # lost
    patient_share: float = 0.25  # of the windows of the job


LIMITS = Calibration()


class ThroughputDrop(Rule):
    """Steps per second have dropped permanently below the job's earlier level.

    Why it matters: The job takes that much longer, and what slows it often grows: lists that are
    never cleared, logs, a full cache, other processes on the machine.
    How it decides:
    - In `in_a_row` windows of 50 steps, the median step takes more than `factor` times as long as
      before (the 40th percentile of up to 64 windows), and 3 seconds are lost (1 second in short
      jobs).
    - 60% of the added time is in one phase other than forward, backward and optimizer.
    - Otherwise steps must be twice as slow for a quarter of the job, and either use twice the CPU
      time for the same inputs, gradients and passes, or lose 2 minutes over 500 steps.
    - Larger inputs, more passes, waits for a core (see CPUContention), evaluation, checkpoints and
      profiled steps do not count.
    What to do: Look at the reported phase: run `sonde profile JOB --kinds python,operators` now and
    compare it with a profile from the beginning.
    """

    factor: Positive = 1.5
    in_a_row: Count = 3

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the median step of each worker with its earlier level."""
        begin_attempt(window, state)
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            is_usable = (
                ~table.is_profiled & ~table.is_skipped & (table.steps >= LIMITS.settling_steps)
            )
            now = _median_step(table, is_usable)
            if now is not None:
                is_slow = self._compare(table, now, worker_state)
                if (
                    is_slow
                    or worker_state["seen"] <= LIMITS.closely_windows
                    or worker_state["seen"] % LIMITS.sample_every_windows == 0
                ):
                    self._add_work(window, table, is_usable, worker_state, is_slow=is_slow)
                if is_slow:
                    yield from self._judge(table, now, worker_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many windows are missing."""
        workers, needed = state.of("workers").values(), LIMITS.min_windows_before + self.in_a_row
        if any(worker.get("seen", 0) >= needed for worker in workers):
            return ""
        steps = max((worker.get("steps", 0) for worker in workers), default=0)
        return Shortfall(steps, self.window_steps * needed, DataUnit.STEPS)

    def _add_work(
        self, window: Window, table: StepTable, is_usable: BoolArray, state: State, *, is_slow: bool
    ) -> None:
        """Add CPU time and workload per step to the state before or after the slowdown."""
        work, latest = state.of("now" if is_slow else "before"), state.of("latest")
        add_cpu_time(window, table, is_usable, work)
        if not is_slow:  # one window late: the workload may have grown within the latest window
            merge_workload(work, latest)
        latest.clear()
        if not is_slow:
            add_workload(window, table, latest)
        elif state["slow"] > 1:  # the first slow window includes steps before the slowdown
            add_workload(window, table, work)

    def _compare(self, table: StepTable, now: dict[str, float], state: State) -> bool:
        """Update the earlier level and return whether steps are slow.

        After a finding, a single fast window does not end the slowdown.
        """
        state["seen"] = state.get("seen", 0) + 1
        state["steps"] = state.get("steps", 0) + len(table.steps)
        state["spent"] = state.get("spent", 0.0) + float(table.durations_ns.sum()) / NANOSECONDS
        history = state.setdefault("history", [])
        state["usual"] = (
            _earlier_level(history) if len(history) >= LIMITS.min_windows_before else now
        )
        if sum(now.values()) > self.factor * sum(state["usual"].values()):
            state["slow"], state["quick"] = state.get("slow", 0) + 1, 0
            if state["slow"] == 1:
                state["since"] = int(table.steps[0])
            return True
        state["history"] = [*history, now][-LIMITS.history_windows :]
        state["quick"] = state.get("quick", 0) + 1
        if not state.get("is_told") or state["quick"] >= LIMITS.recovery_windows:
            state |= {"slow": 0, "lost": 0.0, "is_told": False}
            state.of("now").clear()
        return False

    def _judge(self, table: StepTable, now: dict[str, float], state: State) -> Iterator[Finding]:
        typical = state["usual"]
        seconds, before = sum(now.values()), sum(typical.values())
        state["lost"] = state.get("lost", 0.0) + (seconds - before) * len(table.steps)
        excess = {phase: now.get(phase, 0.0) - typical.get(phase, 0.0) for phase in now}
        phase = max(excess, key=lambda name: excess[name])
        has_cause = (
            excess[phase] >= LIMITS.phase_share * (seconds - before)
            and phase not in COMPUTING_PHASES
        )
        minimum = min(
            LIMITS.min_seconds, max(LIMITS.short_seconds, LIMITS.short_share * state["spent"])
        )
        is_significant = state["slow"] >= self.in_a_row and state["lost"] >= minimum
        if is_significant and not state.get("is_told"):
            is_sure = phase not in _LOADING or not lacks_input_sizes(
                state.of("before"), state.of("now")
            )
            state["is_told"] = self._is_permanent(
                seconds / before, state, has_cause=has_cause and is_sure
            )
        if state.get("is_told"):
            yield self._finding(table, before, seconds, phase if has_cause else "", state)

    def _is_permanent(self, slowdown: float, state: State, *, has_cause: bool) -> bool:
        """Whether the slowdown is more than an intended change or a busy machine.

        Args:
            slowdown: The duration of a step relative to the earlier level.
            state: The state of the worker.
            has_cause: Whether one phase is responsible.
        """
        before, now = state.of("before"), state.of("now")
        if is_explained_by_waiting(before, now, slowdown):
            return False
        work_ratio = cpu_time_ratio(before, now)
        is_busy = is_contended(before, now)
        is_excused = has_larger_workload(before, now) or (
            is_busy and (work_ratio or 0.0) < self.factor
        )
        if has_cause and not is_excused:
            return True
        minimum = max(self.factor, LIMITS.patient_factor)
        if slowdown < minimum or state["slow"] < LIMITS.patient_share * state["seen"]:
            return False
        is_reliable = has_cpu_samples(before) or not is_busy
        has_more_work = work_ratio is not None and work_ratio >= minimum
        if has_more_work and is_reliable and has_same_workload(before, now):
            return True
        is_long = state["slow"] >= LIMITS.patient_windows
        return is_long and bool(state["lost"] >= LIMITS.patient_seconds)

    def _finding(
        self, table: StepTable, before: float, now: float, phase: str, state: State
    ) -> Finding:
        where = f"mostly in phase {phase}" if phase else "in all phases"
        return self.finding(
            f"Since step {state['since']}, steps of worker {table.worker} take "
            f"{format_duration(now)} instead of {format_duration(before)}: "
            f"{format_percent(100 * (1 - before / now))} fewer steps per second. The time is lost "
            f"{where}.",
            step=(int(state["since"]), int(table.steps[-1])),
            worker=table.worker,
            evidence={
                "before_seconds": before,
                "now_seconds": now,
                "phase": phase,
                "lost_seconds": state["lost"],
                "lost_percent": 100 * (1 - before / now),
                "seconds_per_step_to_win": now - before,
            },
        )


def _median_step(table: StepTable, is_usable: BoolArray) -> dict[str, float] | None:
    """Return the seconds of each phase of the median step, or None if too few steps are usable.

    The medians of the phases can come from different steps, so they are scaled to add up to the
    median step.
    """
    if int(is_usable.sum()) < LIMITS.min_window_steps:
        return None
    divisors = np.maximum(table.micro_steps[is_usable], 1) * NANOSECONDS
    phases = {
        name: spent_ns[is_usable] / divisors
        for name, spent_ns in table.phases_ns.items()
        if name not in DELIBERATE_PHASES and spent_ns.any()
    }
    if not phases:
        return None
    total = median_of(np.sum(list(phases.values()), axis=0))
    medians = {name: median_of(seconds) for name, seconds in phases.items()}
    scale = total / max(sum(medians.values()), 1e-12)
    return {name: median * scale for name, median in medians.items() if median}


def _earlier_level(history: list[dict[str, float]]) -> dict[str, float]:
    """Return the window at the level quantile of step time."""
    ordered = sorted(history, key=lambda phases: sum(phases.values()))
    return ordered[int(LIMITS.level_quantile * (len(ordered) - 1))]
