"""DataLoaderStarvation: steps spend too much of their time waiting for data."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Percent
from sonde.rules._rule import Rule, State
from sonde.rules.steps._own_work import share_of_a_core
from sonde.rules.steps._processes import cores_wanted, loader_of
from sonde.rules.steps._waits import Waits

_LEAST_STEPS = 15  # of a window
_CLEAR_SECONDS = 3.0  # of waiting since the first step that counts: no need for more windows
_CLEAR_PERCENT = 50.0  # of the time of these steps
_LEAST_SECONDS = 0.005  # of waiting in a step: what is shorter may be handing over, not loading
_SHORT_SECONDS = 0.0025  # a hint where half of the time and more is waited for: in quick loops
_MOST_OF_A_STEP = 50.0  # percent
_WHERE = "`sonde dataloader` shows where the time goes."


class DataLoaderStarvation(Rule):
    """Training waits for its data for a large part of every step.

    Why it matters: for that part of the time the device has nothing to do, and you pay for it.
    How it decides: over windows of 20 steps, `in_a_row` of them, more than `threshold` percent of
    the time goes into waiting for batches, and at least 5 ms of each step (on a busy machine, of
    the time that the job had a core for). If it is so from the start, 15 steps with 3 seconds of
    waiting, half of their time, are enough. With free cores, waits of 2.5 to 5 ms that take half
    of the time are `info`. The first ten steps, the first batches of an iterator, the longest wait
    of each window, profiled steps, evaluation and checkpoints do not count.
    What to do: give the loader as many processes (`num_workers`) as `sonde dataloader` advises,
    prefetch, keep processes alive (`persistent_workers`), move work out of `__getitem__`;
    `sonde dataloader` shows where its time goes.
    """

    threshold: Percent = 30.0
    in_a_row: Count = 3

    needs = (Steps(),)
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 5
    explains: ClassVar[tuple[str, ...]] = (
        *("LowGPUUtilization", "BatchSize", "ThroughputDrop", "IdleGPU", "Straggler"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up what each worker waits."""
        for table in window.steps():
            own = state.of("workers", table.worker)
            waits = Waits.of(table)
            core = 1.0
            if self._percent(waits, core) > self.threshold:  # else nobody need look at the machine
                core = own["core"] = _share_of_a_core(window, table, own)
                waits = waits.without_starts(window)
            own["timed"] = own.get("timed", 0) + len(waits.steps)
            is_whole = len(waits.steps) >= _LEAST_STEPS
            own["windows"] = own.get("windows", 0) + is_whole
            if self._percent(waits, core) > self.threshold:
                own["run"] = own.get("run", 0) + is_whole
                _add_waits(own, waits)
                if own["run"] >= self.in_a_row or self._is_clear(own):
                    yield self._found(window, waits, own)
            elif is_whole:
                own |= {"run": 0, "waited": 0.0, "longest": 0.0, "whole": 0.0, "steps": 0}
                own["has_kept_up"] = True
                own.pop("since", None)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        workers = state.of("workers").values()
        own = max(workers, key=lambda worker: worker.get("timed", 0), default=State())
        timed, waiting = int(own.get("timed", 0)), int(own.get("steps", 0))
        if own.get("windows", 0) >= self.in_a_row:
            return ""
        if timed < _LEAST_STEPS:
            return Shortfall(timed, _LEAST_STEPS, DataUnit.SETTLED_STEPS)
        needed = self.window_steps * self.in_a_row
        return Shortfall(waiting, needed, DataUnit.SETTLED_STEPS) if waiting else ""

    def _is_clear(self, own: State) -> bool:
        """Whether a job has waited for so long from the start that few steps are enough."""
        if self.is_classic or "in_a_row" in self.given or own.get("has_kept_up"):
            return False
        waited, whole = own["waited"] - own["longest"], own["whole"] - own["longest"]
        is_long = waited >= _CLEAR_SECONDS and 100 * waited >= _CLEAR_PERCENT * whole
        return bool(is_long and own["steps"] >= _LEAST_STEPS)

    def _percent(self, waits: Waits, core: float) -> float:
        """The share of waiting, without the longest wait; 0 where nobody would feel it."""
        if len(waits.steps) < 2:
            return 0.0
        longest = int(waits.seconds.argmax())
        waited = float(waits.seconds.sum() - waits.seconds[longest])
        whole = float(waits.whole.sum() - waits.seconds[longest])
        percent = 100 * waited / whole if whole > 0 else 0.0
        each = core * waited / (len(waits.steps) - 1)
        is_alone = core >= 1.0  # else a wait for a core looks the same
        is_most = is_alone and percent >= _MOST_OF_A_STEP and each >= _SHORT_SECONDS
        return percent if each >= _LEAST_SECONDS or is_most else 0.0

    def _found(self, window: Window, waits: Waits, state: State) -> Finding:
        wait, step = state["waited"] / state["steps"], state["whole"] / state["steps"]
        percent = 100 * state["waited"] / state["whole"]
        is_long = state.get("core", 1.0) * wait >= _LEAST_SECONDS
        loader = loader_of(window, waits.worker, state)
        life = next((one for one in window.leg.lives if one.info.rank == waits.worker), None)
        on_gpu = life is not None and life.info.device.startswith("cuda")
        hours = {"gpu_hours_lost": state["waited"] / 3600} if on_gpu else {}
        said = "" if loader is None else f" Its loader has num_workers={loader.processes}."
        advice = loader.advice if loader is not None else ""
        return self.finding(
            f"Worker {waits.worker} waits for data {percent:.0f} % of the time: {1e3 * wait:.3g} "
            f"of {1e3 * step:.3g} ms of a step.{said}",
            severity=Severity.WARNING if is_long else Severity.INFO,
            step=(int(state["since"]), int(waits.steps[-1])),
            worker=waits.worker,
            advice=f"{advice} {_WHERE}" if advice else self.pages().advice,
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


def _add_waits(own: State, waits: Waits) -> None:
    """Adds a window to those in a row in which a worker waits."""
    own["waited"] = own.get("waited", 0.0) + float(waits.seconds.sum())
    own["longest"] = own.get("longest", 0.0) + float(waits.seconds.max(initial=0.0))
    own["whole"] = own.get("whole", 0.0) + float(waits.whole.sum())
    own["steps"] = own.get("steps", 0) + len(waits.steps)
    own.setdefault("since", int(waits.steps[0]))


def _share_of_a_core(window: Window, table: StepTable, own: State) -> float:
    """How much of a core each process had that makes batches, or takes them."""
    loader = loader_of(window, table.worker, own)
    wanted = 1 if loader is None else cores_wanted(loader.processes, loader.cores)
    return share_of_a_core(window, table, own.get("core", 1.0), wanted)
