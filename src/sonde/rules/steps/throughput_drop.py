"""ThroughputDrop: steps have become slower for good."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.robust import middle_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.read.workers import Marks
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Count, Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg
from sonde.rules.steps._own_work import (
    is_as_much,
    is_crowded,
    is_measured,
    is_more,
    is_only_waiting,
    join_amounts,
    lacks_inputs,
    note_amounts,
    note_work,
    times_the_work,
)

_SETTLING_STEPS = 10  # compilation, warm caches, the first batches
_LEAST_STEPS = 20  # of a window
_HISTORY = 64  # windows that tell what it was
_BEFORE = 2  # windows
_USUAL = 0.4  # the quantile of them: slow moments of before excuse nobody
_ONE_PHASE = 0.6  # of the time lost: then that phase is to blame
_COMPUTING = (Phase.FORWARD.value, Phase.BACKWARD.value, Phase.OPTIMIZER.value)
_LOADING = (Phase.DATA_WAIT.value, Phase.HOST_TO_DEVICE.value)  # larger batches take longer
_DELIBERATE = (Phase.EVALUATION.value, Phase.CHECKPOINT.value)
_LEAST_SECONDS = 3.0  # lost in all; of a short job a part of its time
_SHORT_SECONDS = 1.0
_SHORT_SHARE = 0.2
_CLOSELY = 20  # windows
_NOW_AND_THEN = 8  # windows
_QUICK_WINDOWS = 2  # in a row: then it is over
# What may be meant, or a neighbour's, must be worse, and be a part of the whole job; and where it
# is not known that the processes themselves have more to do, it must last longer.
_PATIENT_FACTOR = 2.0
_PATIENT_WINDOWS = 10
_PATIENT_SECONDS = 120.0
_PATIENT_SHARE = 0.25


class ThroughputDrop(Rule):
    """Steps per second have fallen for good, against the job's own earlier level.

    Why it matters: the job will take that much longer, and what slows it often grows: lists that
    are never emptied, logs, a cache that is full, a neighbour on the machine.
    How it decides: in `in_a_row` windows of 50 steps the median step takes more than `factor` times
    what it took before, and 60% of the added time lies in one phase that does not compute. Where it
    lies in computing or in all phases, steps must be twice as slow for a quarter of the job, and
    either use twice the CPU time for the same inputs, gradients and passes, or lose 2 minutes over
    500 steps. Larger inputs, more passes and what waiting for a core explains (see CPUContention)
    do not count, nor do evaluation, checkpoints and profiled steps.
    What to do: look at the phase that is named: `sonde profile JOB --kinds python,operators` now,
    and compare with a profile from the beginning.
    """

    factor: Positive = 1.5
    in_a_row: Count = 3

    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 2

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the middle step of each worker with what it was."""
        begin_leg(window, state)
        for table in window.steps():
            own = state.of("workers", table.worker)
            is_usable = ~table.is_profiled & ~table.is_skipped & (table.steps >= _SETTLING_STEPS)
            now = _middle(table, is_usable)
            if now is not None:
                is_slow = self._compare(table, now, own)
                if is_slow or own["seen"] <= _CLOSELY or own["seen"] % _NOW_AND_THEN == 0:
                    self._note(window, table, is_usable, own, is_slow=is_slow)
                if is_slow:
                    yield from self._judge(table, now, own)

    def lacks(self, state: State) -> str | Shortfall:
        """How many windows are missing."""
        workers, needed = state.of("workers").values(), _BEFORE + self.in_a_row
        if any(own.get("seen", 0) >= needed for own in workers):
            return ""
        steps = max((own.get("steps", 0) for own in workers), default=0)
        return Shortfall(steps, self.window_steps * needed, DataUnit.STEPS)

    def _note(
        self, window: Window, table: StepTable, is_usable: Marks, state: State, *, is_slow: bool
    ) -> None:
        """Keeps how much is done for a step; while it is as usual, now and then will do."""
        known, latest = state.of("now" if is_slow else "before"), state.of("latest")
        note_work(window, table, is_usable, known)
        if not is_slow:  # the last window before steps are slow may be a part of both
            join_amounts(known, latest)
        latest.clear()
        if not is_slow:
            note_amounts(window, table, latest)
        elif state["slow"] > 1:  # in the first window it was not so all along
            note_amounts(window, table, known)

    def _compare(self, table: StepTable, now: dict[str, float], state: State) -> bool:
        """Whether steps are slow, and how they were before; one quick window ends nothing."""
        state["seen"] = state.get("seen", 0) + 1
        state["steps"] = state.get("steps", 0) + len(table.steps)
        state["spent"] = state.get("spent", 0.0) + float(table.durations_ns.sum()) / NANOSECONDS
        history = state.setdefault("history", [])
        state["usual"] = _usual(history) if len(history) >= _BEFORE else now
        if sum(now.values()) > self.factor * sum(state["usual"].values()):
            state["slow"], state["quick"] = state.get("slow", 0) + 1, 0
            if state["slow"] == 1:
                state["since"] = int(table.steps[0])
            return True
        state["history"] = [*history, now][-_HISTORY:]
        state["quick"] = state.get("quick", 0) + 1
        if not state.get("is_told") or state["quick"] >= _QUICK_WINDOWS:
            state |= {"slow": 0, "lost": 0.0, "is_told": False}
            state.of("now").clear()
        return False

    def _judge(self, table: StepTable, now: dict[str, float], state: State) -> Iterator[Finding]:
        usual = state["usual"]
        seconds, before = sum(now.values()), sum(usual.values())
        state["lost"] = state.get("lost", 0.0) + (seconds - before) * len(table.steps)
        excess = {phase: now.get(phase, 0.0) - usual.get(phase, 0.0) for phase in now}
        phase = max(excess, key=lambda one: excess[one])
        is_alone = excess[phase] >= _ONE_PHASE * (seconds - before) and phase not in _COMPUTING
        least = min(_LEAST_SECONDS, max(_SHORT_SECONDS, _SHORT_SHARE * state["spent"]))
        is_felt = state["slow"] >= self.in_a_row and state["lost"] >= least
        if is_felt and not state.get("is_told"):
            is_sure = phase not in _LOADING or not lacks_inputs(state.of("before"), state.of("now"))
            state["is_told"] = self._is_for_good(
                seconds / before, state, is_alone=is_alone and is_sure
            )
        if state.get("is_told"):
            yield self._found(table, before, seconds, phase if is_alone else "", state)

    def _is_for_good(self, times: float, state: State, *, is_alone: bool) -> bool:
        """Whether it is more than a change that is meant, or a busy machine."""
        then, now = state.of("before"), state.of("now")
        if is_only_waiting(then, now, times):
            return False
        work = times_the_work(then, now)
        is_full = is_crowded(then, now)
        is_excused = is_more(then, now) or (is_full and (work or 0.0) < self.factor)
        if is_alone and not is_excused:
            return True
        least = max(self.factor, _PATIENT_FACTOR)
        if times < least or state["slow"] < _PATIENT_SHARE * state["seen"]:
            return False
        is_sure = is_measured(then) or not is_full
        if work is not None and work >= least and is_sure and is_as_much(then, now):
            return True
        is_long = state["slow"] >= _PATIENT_WINDOWS
        return is_long and bool(state["lost"] >= _PATIENT_SECONDS)

    def _found(
        self, table: StepTable, before: float, now: float, phase: str, state: State
    ) -> Finding:
        where = f"most of it in {phase}" if phase else "in all phases"
        return self.finding(
            f"Steps of worker {table.worker} take {now:.3g} s since step {state['since']}; before, "
            f"they took {before:.3g} s: {100 * (1 - before / now):.0f} % fewer steps per second, "
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


def _middle(table: StepTable, is_usable: Marks) -> dict[str, float] | None:
    """What the phases of the middle step take; None where too few steps tell it.

    Phases are scaled to add up to the middle step: each phase's own middle may be of another one.
    """
    if int(is_usable.sum()) < _LEAST_STEPS:
        return None
    parts = np.maximum(table.micro_steps[is_usable], 1) * NANOSECONDS
    phases = {
        name: spent_ns[is_usable] / parts
        for name, spent_ns in table.phases_ns.items()
        if name not in _DELIBERATE and spent_ns.any()
    }
    if not phases:
        return None
    whole = middle_of(np.sum(list(phases.values()), axis=0))
    middles = {name: middle_of(one) for name, one in phases.items()}
    scale = whole / max(sum(middles.values()), 1e-12)
    return {name: one * scale for name, one in middles.items() if one}


def _usual(history: list[dict[str, float]]) -> dict[str, float]:
    """The window that was as long as most were."""
    ordered = sorted(history, key=lambda one: sum(one.values()))
    return ordered[int(_USUAL * (len(ordered) - 1))]
