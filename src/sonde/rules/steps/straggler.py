"""Straggler: one worker is slower than the others, and they wait for it."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from sonde.analyze.stragglers import Slow, slowest
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.read.workers import Numbers
from sonde.records.finding import Finding
from sonde.records.need import Steps
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Count, Percent
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_SETTLING_STEPS = 10
_LEAST_STEPS = 20  # that all workers have
_LEAST_SECONDS = 0.0008  # of a step: the first worker may log each of them
_MOSTLY = 0.8  # of the steps
# Phases in which nobody waits for another worker: first those that are surely one's own; and then
# the forward pass, in which parameters may be gathered from the others.
_OWN = (Phase.DATA_WAIT.value, Phase.HOST_TO_DEVICE.value, Phase.CHECKPOINT.value)
_FORWARD = Phase.FORWARD.value
# A host that has given all to its device waits for it here.
_OWN_WITHOUT_DEVICE = (Phase.BETWEEN.value, Phase.OPTIMIZER.value)


class Straggler(Rule):
    """One worker is persistently slower than the others at the same steps.

    Why it matters: workers that train together all wait for the slowest one, at every step.
    How it decides: over windows of 50 steps, `in_a_row` of them, the same worker takes more than
    `threshold` percent of a step, and 0.8 ms, longer than the middle of the others, in
    four steps of five, in phases in which it waits for nobody: loading, transfers, the forward
    pass; without a GPU also what lies between, and the forward pass counts twice, as what is longer
    there is so in the backward pass. Evaluation, the first ten steps and profilers do not count.
    What to do: look at the phase that is named on that worker: its share of the data, its disk, its
    GPU (`sonde status`: clocks, heat), other processes on its node; or give it less to do.
    """

    threshold: Percent = 10.0
    in_a_row: Count = 3

    needs = (Steps(),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 3
    explains: ClassVar[tuple[str, ...]] = ("LoadBalancing", "LowGPUUtilization", "ThroughputDrop")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the workers at the steps that all of them have."""
        begin_leg(window, state)
        tables = window.steps()
        state["workers"] = max(state.get("workers", 0), len(tables))
        steps = _common_steps(tables)
        if len(tables) < 2 or len(steps) < _LEAST_STEPS:
            return
        state["windows"] = state.get("windows", 0) + 1
        state["steps"] = state.get("steps", 0) + len(steps)
        devices = {life.info.rank: life.info.device for life in window.leg.lives}
        found = self._slow(tables, steps, on_device="cpu" not in devices.values())
        if found is None or found.worker != state.get("worker"):
            state |= {"run": 0, "lost": 0.0, "since": int(steps[0])}
        state["worker"] = None if found is None else found.worker
        if found is not None:
            state["run"] += 1
            state["lost"] += found.excess * len(steps)
            if state["run"] >= self.in_a_row:
                yield self._found(window, found, steps, tables, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many windows are missing."""
        if state.get("windows", 0) >= self.in_a_row:
            return ""
        needed = self.window_steps * self.in_a_row
        return Shortfall(state.get("steps", 0), needed, DataUnit.WORKER_STEPS)

    def unfit(self, state: State) -> str:
        """Jobs of one worker."""
        return "there is one worker only" if state.get("workers", 0) == 1 else ""

    def _slow(self, tables: Sequence[StepTable], steps: Numbers, *, on_device: bool) -> Slow | None:
        phases, whole = {}, []
        for table in tables:
            places = np.searchsorted(table.steps, steps)
            phases[table.worker] = {
                name: one[places] / NANOSECONDS for name, one in table.phases_ns.items()
            }
            whole.append(float(np.median(table.durations_ns[places])) / NANOSECONDS)
        least = max(_LEAST_SECONDS, self.threshold / 100 * float(np.median(whole)))
        named = set.intersection(*(set(one) for one in phases.values())) - set(Phase)
        own = (*_OWN, *sorted(named))
        again = () if on_device else (_FORWARD,)
        for alone in (own, (*own, _FORWARD, *(() if on_device else _OWN_WITHOUT_DEVICE))):
            found = slowest(phases, alone, least, again)
            if found is not None and found.share >= _MOSTLY:
                return found
        return None

    def _found(
        self,
        window: Window,
        slow: Slow,
        steps: Numbers,
        tables: Sequence[StepTable],
        state: State,
    ) -> Finding:
        life = next((one for one in window.leg.lives if one.info.rank == slow.worker), None)
        node = None if life is None else life.info.node
        others = len(tables) - 1
        place = f" on {node}" if node else ""
        count = "the other worker waits" if others == 1 else f"{others} workers wait"
        on_gpu = life is not None and life.info.device.startswith("cuda")
        hours = {"gpu_hours_lost": others * state["lost"] / 3600} if on_gpu else {}
        return self.finding(
            f"Worker {slow.worker}{place} takes {1e3 * slow.excess:.3g} ms of a step longer than "
            f"the others, most of it in {slow.phase}; {count} for it.",
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


def _common_steps(tables: Sequence[StepTable]) -> Numbers:
    """The steps that all workers have, without those that tell nothing."""
    found: Numbers | None = None
    for table in tables:
        is_usable = ~table.is_profiled & (table.steps >= _SETTLING_STEPS)
        is_usable &= table.phases_ns[Phase.EVALUATION.value] == 0
        own = table.steps[is_usable]
        found = own if found is None else np.intersect1d(found, own, assume_unique=True)
    return np.empty(0, dtype=np.int64) if found is None else found
