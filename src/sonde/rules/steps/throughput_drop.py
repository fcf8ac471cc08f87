"""ThroughputDrop: steps have become slower for good."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import median_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
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

_COMPUTING = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)
_LOADING = (Phase.DATA_WAIT.value, Phase.HOST_TO_DEVICE.value)  # larger batches take longer
_DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ThroughputDrop.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    settling_steps: int = 10  # compilation, cold caches, first batches
    min_window_steps: int = 20
    history_windows: int = 64  # for the earlier level
    min_windows_before: int = 2
    # of the earlier windows, below the median so that slow moments do not raise it
    level_quantile: float = 0.4
    phase_share: float = 0.6  # of the added time: then that phase is responsible
    min_seconds: float = 3.0  # lost
    short_seconds: float = 1.0  # lost, in a short job
    short_share: float = 0.2  # likewise, of its time
    closely_windows: int = 20  # in which every window is measured
    sample_every_windows: int = 8  # later
    recovery_windows: int = 2  # in a row
    patient_factor: float = 2.0  # slowdown that may be intended or caused by other processes
    patient_windows: int = 10  # likewise
    patient_seconds: float = 120.0  # likewise, lost
    patient_share: float = 0.25  # likewise, of the whole job


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
        """Compares the middle step of each worker with what it was."""
        begin_attempt(window, state)
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            is_usable = (
                ~table.is_profiled & ~table.is_skipped & (table.steps >= LIMITS.settling_steps)
            )
            now = _middle(table, is_usable)
            if now is not None:
                is_slow = self._compare(table, now, worker_state)
                if (
                    is_slow
                    or worker_state["seen"] <= LIMITS.closely_windows
                    or worker_state["seen"] % LIMITS.sample_every_windows == 0
                ):
                    self._note(window, table, is_usable, worker_state, is_slow=is_slow)
                if is_slow:
                    yield from self._judge(table, now, worker_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many windows are missing."""
        workers, needed = state.of("workers").values(), LIMITS.min_windows_before + self.in_a_row
        if any(worker.get("seen", 0) >= needed for worker in workers):
            return ""
        steps = max((worker.get("steps", 0) for worker in workers), default=0)
        return Shortfall(steps, self.window_steps * needed, DataUnit.STEPS)

    def _note(
        self, window: Window, table: StepTable, is_usable: BoolArray, state: State, *, is_slow: bool
    ) -> None:
        """Keeps how much is done for a step; while it is as usual, now and then will do."""
        work, latest = state.of("now" if is_slow else "before"), state.of("latest")
        add_cpu_time(window, table, is_usable, work)
        if not is_slow:  # the last window before steps are slow may be a part of both
            merge_workload(work, latest)
        latest.clear()
        if not is_slow:
            add_workload(window, table, latest)
        elif state["slow"] > 1:  # in the first window it was not so all along
            add_workload(window, table, work)

    def _compare(self, table: StepTable, now: dict[str, float], state: State) -> bool:
        """Whether steps are slow, and how they were before; one quick window ends nothing."""
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
        is_alone = (
            excess[phase] >= LIMITS.phase_share * (seconds - before) and phase not in _COMPUTING
        )
        minimum = min(
            LIMITS.min_seconds, max(LIMITS.short_seconds, LIMITS.short_share * state["spent"])
        )
        is_felt = state["slow"] >= self.in_a_row and state["lost"] >= minimum
        if is_felt and not state.get("is_told"):
            is_sure = phase not in _LOADING or not lacks_input_sizes(
                state.of("before"), state.of("now")
            )
            state["is_told"] = self._is_for_good(
                seconds / before, state, is_alone=is_alone and is_sure
            )
        if state.get("is_told"):
            yield self._finding(table, before, seconds, phase if is_alone else "", state)

    def _is_for_good(self, times: float, state: State, *, is_alone: bool) -> bool:
        """Whether it is more than a change that is meant, or a busy machine."""
        then, now = state.of("before"), state.of("now")
        if is_explained_by_waiting(then, now, times):
            return False
        work = cpu_time_ratio(then, now)
        is_full = is_contended(then, now)
        is_excused = has_larger_workload(then, now) or (is_full and (work or 0.0) < self.factor)
        if is_alone and not is_excused:
            return True
        minimum = max(self.factor, LIMITS.patient_factor)
        if times < minimum or state["slow"] < LIMITS.patient_share * state["seen"]:
            return False
        is_sure = has_cpu_samples(then) or not is_full
        if work is not None and work >= minimum and is_sure and has_same_workload(then, now):
            return True
        is_long = state["slow"] >= LIMITS.patient_windows
        return is_long and bool(state["lost"] >= LIMITS.patient_seconds)

    def _finding(
        self, table: StepTable, before: float, now: float, phase: str, state: State
    ) -> Finding:
        where = f"mostly in {phase}" if phase else "in all phases"
        return self.finding(
            f"Since step {state['since']}, steps of worker {table.worker} take {now:.3g} s instead "
            f"of {before:.3g} s: {100 * (1 - before / now):.0f}% fewer steps per second. The time "
            f"is lost {where}.",
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


def _middle(table: StepTable, is_usable: BoolArray) -> dict[str, float] | None:
    """What the phases of the middle step take; None where too few steps tell it.

    Phases are scaled to add up to the middle step: each phase's own middle may be of another one.
    """
    if int(is_usable.sum()) < LIMITS.min_window_steps:
        return None
    divisors = np.maximum(table.micro_steps[is_usable], 1) * NANOSECONDS
    phases = {
        name: spent_ns[is_usable] / divisors
        for name, spent_ns in table.phases_ns.items()
        if name not in _DELIBERATE and spent_ns.any()
    }
    if not phases:
        return None
    total = median_of(np.sum(list(phases.values()), axis=0))
    middles = {name: median_of(item) for name, item in phases.items()}
    scale = total / max(sum(middles.values()), 1e-12)
    return {name: item * scale for name, item in middles.items() if item}


def _earlier_level(history: list[dict[str, float]]) -> dict[str, float]:
    """The window that was as long as most were."""
    ordered = sorted(history, key=lambda name: sum(name.values()))
    return ordered[int(LIMITS.level_quantile * (len(ordered) - 1))]
