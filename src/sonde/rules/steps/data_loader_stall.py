"""DataLoaderStall: a single wait for a batch is far longer than the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.formats import format_duration
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.contention import core_share
from sonde.rules.measures.data_waits import Waits
from sonde.rules.measures.training_kind import begin_attempt


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of DataLoaderStall.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    recent_steps: int = 400  # for the median and the 90th percentile
    min_steps: int = 20
    long_wait_quantile: float = 0.9
    long_wait_factor: float = 10.0  # of that quantile
    step_factor: float = 20.0  # of the median step
    min_lost_share: float = 0.02  # of the time so far, for a warning
    long_seconds: float = 30.0  # lost, for a warning


LIMITS = Calibration()


class DataLoaderStall(Rule):
    """A single wait for a batch is far longer than the others.

    Why it matters: All workers are idle in the meantime. A stall of seconds can also become
    permanent: a hung file system, a broken file, a loader process that died.
    How it decides:
    - A step waits for its batch for at least `seconds`, 10 times the 90th percentile of the last
      400 waits, and 20 times the median step.
    - If cores are contended, only the share of the wait in which the job had a core counts.
    - The first 10 steps and the first batches of each iterator do not count. Needs 20 later steps.
    - A warning if stalls cost 2% of the time so far or 30 seconds; otherwise `info`.
    What to do: Check the items of that batch and the disk or network they come from. Set a
    `timeout` for the loader, copy data to a local disk, or prefetch more batches.
    """

    seconds: Positive = 0.5

    section = Section.SPEED
    calibration = LIMITS
    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = ("StepOutlier", "IdleGPU", "StalledTrainingRule")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Find unusually long waits."""
        begin_attempt(window, state)
        for table in window.steps():
            worker_state = state.of("workers", table.worker)
            waits = Waits.of(table)
            _add_waits(waits, worker_state)
            if (
                len(worker_state["waits"]) < LIMITS.min_steps
                or float(waits.seconds.max(initial=0.0)) < self.seconds
            ):
                continue
            later, limit = waits.without_starts(window), self._limit(worker_state)
            is_long = later.seconds > limit
            if is_long.any():  # reading CPU metrics is expensive
                is_long = core_share(window, table) * later.seconds > limit
            if is_long.any():
                yield self._finding(later.take(is_long), worker_state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        count = max((worker.get("seen", 0) for worker in state.of("workers").values()), default=0)
        return (
            ""
            if count >= LIMITS.min_steps
            else Shortfall(count, LIMITS.min_steps, DataUnit.SETTLED_STEPS)
        )

    def _limit(self, state: State) -> float:
        """Return the duration in seconds above which a wait of this worker is a stall."""
        waits = np.array(state["waits"])
        long_wait = float(np.quantile(waits, LIMITS.long_wait_quantile))
        step = float(np.median(np.array(state["steps"])))
        state["usual"] = float(np.median(waits))
        return max(self.seconds, LIMITS.long_wait_factor * long_wait, LIMITS.step_factor * step)

    def _finding(self, stalls: Waits, state: State) -> Finding:
        longest = int(stalls.seconds.argmax())
        lost = float(stalls.seconds.sum())
        state["lost"] = state.get("lost", 0.0) + lost
        is_costly = (
            state["lost"] > LIMITS.min_lost_share * state["spent"] or lost > LIMITS.long_seconds
        )
        step, seconds = int(stalls.steps[longest]), float(stalls.seconds[longest])
        return self.finding(
            f"Worker {stalls.worker} waited {format_duration(seconds)} for the batch of step "
            f"{step} (median wait: {format_duration(state['usual'])}).",
            severity=Severity.WARNING if is_costly else Severity.INFO,
            step=(int(stalls.steps[0]), int(stalls.steps[-1])),
            worker=stalls.worker,
            evidence={
                "longest_seconds": seconds,
                "usual_seconds": state["usual"],
                "stalls": len(stalls.steps),
                "lost_seconds": state["lost"],
            },
        )


def _add_waits(waits: Waits, state: State) -> None:
    state["waits"] = (state.get("waits", []) + waits.seconds.tolist())[-LIMITS.recent_steps :]
    state["steps"] = (state.get("steps", []) + waits.step_seconds.tolist())[-LIMITS.recent_steps :]
    state["spent"] = state.get("spent", 0.0) + float(waits.step_seconds.sum())
    state["seen"] = state.get("seen", 0) + len(waits.steps)
