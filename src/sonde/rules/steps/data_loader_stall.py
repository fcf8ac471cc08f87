"""DataLoaderStall: one wait for a batch is far longer than all others."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg
from sonde.rules.steps._own_work import share_of_a_core
from sonde.rules.steps._waits import Waits

_RECENT = 400  # steps that tell what is usual
_LEAST = 20
_TIMES_STEP = 20.0  # the usual step
_SHARE = 0.02  # of the time so far: less is worth a word, not a warning
_LONG_SECONDS = 30.0


class DataLoaderStall(Rule):
    """One wait for a batch is far longer than the rest.

    Why it matters: everything stands still meanwhile, on all workers; and what stalls once for
    seconds may do so for good: a hung file system, a broken file, a loader process that died.
    How it decides: a wait of at least `seconds` (on a busy machine, of the time that the job had a
    core for), ten times as long as nearly all others and 20 times as long as a usual step. The
    first batches of an iterator and the first ten steps do not count. It is a warning if stalls
    cost 2% of the time so far or 30 seconds, else `info`.
    What to do: look at the items of that batch and at the disk or network they come from; give the
    loader a `timeout`, copy data to a local disk, prefetch more batches.
    """

    seconds: Positive = 0.5

    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = ("StepOutlier", "IdleGPU", "StalledTrainingRule")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks for waits that are out of line."""
        begin_leg(window, state)
        for table in window.steps():
            own = state.of("workers", table.worker)
            waits = Waits.of(table)
            _remember(waits, own)
            if len(own["waits"]) < _LEAST or float(waits.seconds.max(initial=0.0)) < self.seconds:
                continue
            later, limit = waits.without_starts(window), self._limit(own)
            is_long = later.seconds > limit
            if is_long.any():  # else nobody need look at the machine
                is_long = share_of_a_core(window, table) * later.seconds > limit
            if is_long.any():
                yield self._found(later.take(is_long), own)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        seen = max((one.get("seen", 0) for one in state.of("workers").values()), default=0)
        return "" if seen >= _LEAST else Shortfall(seen, _LEAST, DataUnit.SETTLED_STEPS)

    def _limit(self, state: State) -> float:
        """What is out of line for this worker."""
        often = float(np.quantile(np.array(state["waits"]), 0.9))
        step = float(np.median(np.array(state["steps"])))
        state["usual"] = float(np.median(np.array(state["waits"])))
        return max(self.seconds, 10 * often, _TIMES_STEP * step)

    def _found(self, stalls: Waits, state: State) -> Finding:
        longest = int(stalls.seconds.argmax())
        lost = float(stalls.seconds.sum())
        state["lost"] = state.get("lost", 0.0) + lost
        is_much = state["lost"] > _SHARE * state["spent"] or lost > _LONG_SECONDS
        step, seconds = int(stalls.steps[longest]), float(stalls.seconds[longest])
        return self.finding(
            f"Worker {stalls.worker} waited {seconds:.3g} s for the batch of step {step}; it "
            f"usually waits {1e3 * state['usual']:.3g} ms.",
            severity=Severity.WARNING if is_much else Severity.INFO,
            step=(int(stalls.steps[0]), int(stalls.steps[-1])),
            worker=stalls.worker,
            evidence={
                "longest_seconds": seconds,
                "usual_seconds": state["usual"],
                "stalls": len(stalls.steps),
                "lost_seconds": state["lost"],
            },
        )


def _remember(waits: Waits, state: State) -> None:
    state["waits"] = (state.get("waits", []) + waits.seconds.tolist())[-_RECENT:]
    state["steps"] = (state.get("steps", []) + waits.whole.tolist())[-_RECENT:]
    state["spent"] = state.get("spent", 0.0) + float(waits.whole.sum())
    state["seen"] = state.get("seen", 0) + len(waits.steps)
