"""Rules that judge the profiled operators of a step, together with the pace of unprofiled steps."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, ClassVar

import numpy as np

from sonde.analyze.operations import Profile
from sonde.clock import NANOSECONDS
from sonde.read.operator_profiles import read_operator_profiles
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, SpeedLimit
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Need, Operations, Steps
from sonde.records.shortfall import Shortfall
from sonde.records.step import DELIBERATE_PHASES, Phase
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.gpu_memory import GPUMemory
from sonde.rules.measures.training_kind import begin_attempt


@dataclass(frozen=True, slots=True)
class Calibration:
    """When a profile is read, and which steps set the pace."""

    written_after_seconds: float = 10.0  # after the profiled step; traces are decoded in parallel
    settling_steps: int = 5  # compilation, allocation
    recent_windows: int = 20  # of 50 steps
    phases: tuple[str, ...] = tuple(phase.value for phase in Phase)


LIMITS = Calibration()


@dataclass(frozen=True)
class Pace:
    """The time of a typical unprofiled step of one worker, without evaluation and checkpoints."""

    worker: int
    seconds: float
    phases: dict[str, float]  # seconds by phase
    steps: tuple[int, int]  # first and last profiled step
    batch_room: float | None = None  # by how much a batch can grow in the memory of the GPU
    device_name: str = ""  # the model of the GPU

    @property
    def busy_seconds(self) -> float:
        """The time without waiting for data."""
        return max(0.0, self.seconds - self.phases.get(Phase.DATA_WAIT.value, 0.0))


def device_name(device: str) -> str:
    """A device as people call it: `cuda:0` is GPU 0."""
    kind, _, number = device.rpartition(":")
    return f"GPU {number}" if kind in ("cuda", "hip") else device


class ProfileRule(Rule):
    """Base class of rules that measure profiled steps once and judge the result."""

    section = Section.SPEED
    needs: ClassVar[tuple[Need, ...]] = (Steps(), Operations("kernel"))
    window_steps: ClassVar[int | None] = 50
    recovers_after: ClassVar[int] = 0
    needs_gpu: ClassVar[bool] = True
    judged: ClassVar[str] = "GPU operations"

    @abstractmethod
    def measure(self, profile: Profile) -> dict[str, Any] | None:
        """Measure one profile, as JSON values; None if the rule does not apply to it."""

    @abstractmethod
    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Yield the findings about a worker, given its last measured profile."""

    def limit(self, state: State) -> SpeedLimit | None:
        """How busy the resource is that sets the speed; None if the rule does not measure it."""
        del state
        return None

    def summary(self, state: State) -> Evidence:
        """The limit, if it was measured."""
        limit = self.limit(state)
        return {PREDICTS: True, **(limit.summary() if limit is not None else {})}

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Measure new profiles, and judge them when they are new and at the end."""
        begin_attempt(window, state)
        memory = GPUMemory.update(window, state)
        room = None if memory is None else memory.largest_batch_factor
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            worker_state["is_on_gpu"] = _is_on_gpu(window, table.worker)
            _add_pace(table, worker_state)
            is_new = self._measure_new(window, table, worker_state)
            if (is_new or window.is_last) and worker_state.get("measured"):
                name = _device_model(window, table.worker)
                pace = replace(_pace(table, worker_state), batch_room=room, device_name=name)
                yield from self.judge(worker_state.of("measured"), pace, window)

    def unfit(self, state: State) -> str:
        """The job uses no GPU."""
        workers = state.of("workers").values()
        is_on_gpu = any(worker.get("is_on_gpu") or worker.get("measured") for worker in workers)
        return "" if is_on_gpu or not self.needs_gpu else "the job uses no GPU"

    def lacks(self, state: State) -> str | Shortfall:
        """No step with the operations that the rule judges was profiled."""
        workers = state.of("workers").values()
        is_measured = any(worker.get("measured") for worker in workers)
        return "" if is_measured else f"no {self.judged} were profiled"

    def _measure_new(self, window: Window, table: StepTable, state: State) -> bool:
        """Whether a new profile was measured."""
        if table.is_profiled.any():
            state["profiled"] = [int(step) for step in table.steps[table.is_profiled][[0, -1]]]
            state["until_ns"] = int(table.ends_ns[table.is_profiled].max())
        written_ns = state.get("until_ns", 0) + LIMITS.written_after_seconds * NANOSECONDS
        if not window.is_last and (not state.get("until_ns") or window.end_ns < written_ns):
            return False
        is_new = False
        for profile in _profiles(window, table.worker):
            if profile.start_ns > state.get("measured_ns", 0):
                state["measured_ns"], state["until_ns"] = profile.start_ns, 0
                measured = self.measure(profile)
                if measured is not None:
                    state["measured"] = State(measured)
                    is_new = True
        return is_new


def _is_on_gpu(window: Window, worker: int) -> bool:
    lives = (life.info for life in window.attempt.lives)
    return any(info.rank == worker and info.device.startswith(("cuda", "hip")) for info in lives)


def _device_model(window: Window, worker: int) -> str:
    infos = (life.info for life in window.attempt.lives)
    return next((info.device_name for info in infos if info.rank == worker), "")


def _profiles(window: Window, worker: int) -> tuple[Profile, ...]:
    """The operator profiles of a worker so far; read once for all rules of a window."""
    key = ("operator profiles", worker)
    if key not in window.cache:
        profiles = read_operator_profiles([window.data.worker(worker)])
        window.cache[key] = profiles, sum(len(profile.operations) for profile in profiles)
    profiles, datapoints = window.cache[key]
    window.count(datapoints)
    return tuple(profiles)


def _add_pace(table: StepTable, state: State) -> None:
    """Add the median step and phases of a window."""
    is_usable = table.is_representative & (table.steps >= LIMITS.settling_steps)
    if not is_usable.any():
        return
    phases_ns = {name: table.phases_ns[name][is_usable] for name in LIMITS.phases}
    durations_ns = table.durations_ns[is_usable] - sum(
        phases_ns[name] for name in DELIBERATE_PHASES
    )
    row = [float(np.median(durations_ns)), *(float(np.mean(ns)) for ns in phases_ns.values())]
    rows = [*state.get("paces", []), [value / NANOSECONDS for value in row]]
    state["paces"] = rows[-LIMITS.recent_windows :]


def _pace(table: StepTable, state: State) -> Pace:
    """The pace of a worker; that of the profiled steps if there are no others."""
    rows = state.get("paces") or [
        [float(np.median(table.durations_ns)) / NANOSECONDS, *[0.0] * len(LIMITS.phases)]
    ]
    seconds, *phases = (median(column) for column in zip(*rows, strict=True))
    first, last = state.get("profiled") or (int(table.steps[0]), int(table.steps[-1]))
    return Pace(table.worker, seconds, dict(zip(LIMITS.phases, phases, strict=True)), (first, last))
