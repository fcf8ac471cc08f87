"""DataLoaderStarvation: steps spend too much of their time waiting for data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.analyze.durations import time_percent
from sonde.formats import format_duration, format_percent
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.contention import core_share
from sonde.rules.measures.data_waits import Waits
from sonde.rules.measures.loader_improvement import starvation_improvement
from sonde.rules.measures.training_loader import cores_needed, loader_facts

_WHERE = "`sonde dataloader` shows where the time goes."


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of DataLoaderStarvation.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_window_steps: int = 15
    clear_seconds: float = 3.0  # of waiting since the first step, for one window to be enough
    clear_percent: float = 50.0  # of the time of these steps
    min_wait_seconds: float = 0.005  # per step; shorter waits may be the transfer of a batch
    min_short_wait_seconds: float = 0.0025  # per step, for a finding with severity info
    short_wait_percent: float = 50.0  # of a step, for such a finding


LIMITS = Calibration()


class DataLoaderStarvation(Rule):
    """Steps spend a large part of their time waiting for data.

    Why it matters: The device is idle for that part of the time, and you pay for it.
    How it decides:
    - In `in_a_row` windows of 20 steps, more than `threshold` percent of the time is spent waiting
      for batches, and at least 5 ms per step.
    - From the start of a job, 15 steps that wait 3 seconds in total and half of their time are
      enough.
    - If cores are contended, only the share of the wait in which the job had a core counts.
      Otherwise, waits of 2.5 to 5 ms that take half of the time are `info`.
    - The first 10 steps, the first batches of each iterator, the longest wait of each window,
      profiled steps, evaluation and checkpoints do not count.
    What to do: Use the number of loader processes (`num_workers`) that `sonde dataloader`
    recommends, prefetch, keep processes alive (`persistent_workers`), and move work out of
    `__getitem__`. `sonde dataloader` shows where the loader's time goes.
    """

    threshold: Percent = 30.0
    in_a_row: Count = 3

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 5
    explains: ClassVar[tuple[str, ...]] = (
        *("LowGPUUtilization", "BatchSize", "ThroughputDrop", "IdleGPU", "Straggler"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the waiting time of each worker over consecutive windows."""
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            waits = Waits.of(table)
            core = 1.0
            if self._percent(waits, core) > self.threshold:  # reading CPU metrics is expensive
                core = worker_state["core"] = _loader_core_share(window, table, worker_state)
                waits = waits.without_starts(window)
            worker_state["timed"] = worker_state.get("timed", 0) + len(waits.steps)
            is_whole = len(waits.steps) >= LIMITS.min_window_steps
            worker_state["windows"] = worker_state.get("windows", 0) + is_whole
            if self._percent(waits, core) > self.threshold:
                worker_state["run"] = worker_state.get("run", 0) + is_whole
                _add_waits(worker_state, waits)
                if worker_state["run"] >= self.in_a_row or self._is_clear(worker_state):
                    yield self._finding(window, waits, worker_state)
            elif is_whole:
                worker_state |= {"run": 0, "waited": 0.0, "longest": 0.0, "whole": 0.0, "steps": 0}
                worker_state["has_kept_up"] = True
                worker_state.pop("since", None)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        workers = state.of("workers").values()
        busiest = max(workers, key=lambda worker: worker.get("timed", 0), default=State())
        timed, waiting = int(busiest.get("timed", 0)), int(busiest.get("steps", 0))
        if busiest.get("windows", 0) >= self.in_a_row:
            return ""
        if timed < LIMITS.min_window_steps:
            return Shortfall(timed, LIMITS.min_window_steps, DataUnit.SETTLED_STEPS)
        needed = self.window_steps * self.in_a_row
        return Shortfall(waiting, needed, DataUnit.SETTLED_STEPS) if waiting else ""

    def _is_clear(self, state: State) -> bool:
        """Whether a job has waited for so long from the start that few steps are enough."""
        if self.is_classic or "in_a_row" in self.explicit_parameters or state.get("has_kept_up"):
            return False
        waited, total = state["waited"] - state["longest"], state["whole"] - state["longest"]
        is_long = waited >= LIMITS.clear_seconds and 100 * waited >= LIMITS.clear_percent * total
        return bool(is_long and state["steps"] >= LIMITS.min_window_steps)

    def _percent(self, waits: Waits, core: float) -> float:
        """Return the percentage of time spent waiting, or 0 if waits are negligible.

        The longest wait does not count: DataLoaderStall reports single stalls.
        """
        if len(waits.steps) < 2:
            return 0.0
        longest = int(waits.seconds.argmax())
        waited = float(waits.seconds.sum() - waits.seconds[longest])
        total = float(waits.step_seconds.sum() - waits.seconds[longest])
        percent = time_percent(waited, total)
        per_step = core * waited / (len(waits.steps) - 1)
        has_full_core = core >= 1.0  # otherwise a short wait may be a wait for a core
        is_short_but_large = (
            has_full_core
            and percent >= LIMITS.short_wait_percent
            and per_step >= LIMITS.min_short_wait_seconds
        )
        return percent if per_step >= LIMITS.min_wait_seconds or is_short_but_large else 0.0

    def _finding(self, window: Window, waits: Waits, state: State) -> Finding:
        wait, step = state["waited"] / state["steps"], state["whole"] / state["steps"]
        percent = time_percent(state["waited"], state["whole"])
        is_long = state.get("core", 1.0) * wait >= LIMITS.min_wait_seconds
        loader = loader_facts(window, waits.worker, state)
        life = next(
            (
                worker_life
                for worker_life in window.attempt.lives
                if worker_life.info.rank == waits.worker
            ),
            None,
        )
        on_gpu = life is not None and life.info.is_on_gpu
        hours = {"gpu_hours_lost": state["waited"] / 3600} if on_gpu else {}
        text = "" if loader is None else f" Its loader uses num_workers={loader.processes}."
        advice = loader.advice if loader is not None else ""
        return self.finding(
            f"Worker {waits.worker} spends {format_percent(percent)} of its step time waiting for "
            f"data: {format_duration(wait)} of {format_duration(step)} per step.{text}",
            severity=Severity.WARNING if is_long else Severity.INFO,
            step=(int(state["since"]), int(waits.steps[-1])),
            worker=waits.worker,
            advice=f"{advice} {_WHERE}" if advice else self.pages().advice,
            improvement=starvation_improvement(loader, wait, step),
            evidence={
                "lost_percent": percent,
                "lost_seconds": state["waited"],
                "seconds_per_step_to_win": wait,
                "step_seconds": step,
                "loader_processes": None if loader is None else loader.processes,
                "loader_processes_advised": None if loader is None else loader.advised,
                **hours,
            },
        )


def _add_waits(state: State, waits: Waits) -> None:
    """Add a window to the consecutive windows in which a worker waits."""
    state["waited"] = state.get("waited", 0.0) + float(waits.seconds.sum())
    state["longest"] = state.get("longest", 0.0) + float(waits.seconds.max(initial=0.0))
    state["whole"] = state.get("whole", 0.0) + float(waits.step_seconds.sum())
    state["steps"] = state.get("steps", 0) + len(waits.steps)
    state.setdefault("since", int(waits.steps[0]))


def _loader_core_share(window: Window, table: StepTable, state: State) -> float:
    """Return the share of a core that the worker and its loader processes had each."""
    loader = loader_facts(window, table.worker, state)
    processes = 1 if loader is None else cores_needed(loader.processes, loader.cores)
    return core_share(window, table, state.get("core", 1.0), processes)
