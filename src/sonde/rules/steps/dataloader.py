"""Dataloader: the number of loader processes does not fit the cores."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.loading import Operation
from sonde.records.need import Operations
from sonde.records.profile import OperationCategory
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules.steps._own_work import share_of_a_core
from sonde.rules.steps._processes import (
    TrainingLoader,
    cores_wanted,
    loader_of,
    training_loader,
)
from sonde.rules.steps._waits import Waits

_LOADING = OperationCategory.LOADING.value
_LEAST_STEPS = 15
_FEW_STEPS = 50  # of fewer, the first batches and a single stall would be too large a share
_WAITING = 0.3  # of the time of the steps: less is hidden by what goes on meanwhile
_LEAST_SECONDS = 0.005  # of waiting in a step: what is shorter is handing over, not loading
_LEAST_WAITED = 5.0  # seconds in all: with less nobody would win anything
_COPYING = 0.05  # of the time of the steps: less is nothing to win
_PERCENTS = (50.0, 95.0, 100.0)
_WHERE = "`sonde dataloader` shows where the time of loading goes."


class Dataloader(Rule):
    """The number of loader processes does not fit the cores, or memory is not pinned.

    Why it matters: too few processes let the device wait; too many take memory and get in each
    other's way. From memory that is not pinned, copies to a GPU are slow and hold up the host.
    How it decides: the loader processes of all workers of a node are fewer than min_threshold or
    more than max_threshold percent of the cores that are available. Calibrated says so only where
    it hurts: at least 15 steps after the first ten wait for data for 30% of their time, and where
    processes are too few, 5 s in all and 5 ms each (on a busy machine, of the time that the job had
    a core for). Of fewer than 50 steps, the first batches of an iterator and the longest wait do
    not count. That memory is not pinned is told where a GPU is used; calibrated, where copies to it
    take 5% of the steps.
    What to do: set `num_workers` to what `sonde dataloader` advises, which is no more than there
    are cores for, and `pin_memory=True`; the command also shows where the time of loading goes.
    """

    min_threshold: Positive = 70.0
    max_threshold: Positive = 200.0

    needs = (Operations(_LOADING),)
    window_steps: ClassVar[int] = 200
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at the loaders of every worker, and at what its steps wait."""
        _note_loaders(window, state)
        for table in window.steps():
            _note_steps(window, table, state.of("workers", table.worker))
        nodes: dict[str, dict[int, State]] = {}
        for life in window.leg.lives:
            own = state.of("workers", life.info.rank)
            if "processes" in own:
                own["is_on_gpu"] = life.info.device.startswith("cuda")
                nodes.setdefault(life.info.node, {})[life.info.rank] = own
        for node, workers in nodes.items():
            yield self._judge_processes(window, node, workers)
            yield self._judge_pinning(node, workers)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        seen = max((int(own.get("steps", 0)) for own in state.of("workers").values()), default=0)
        if self.is_classic or seen >= _LEAST_STEPS:
            return ""
        return Shortfall(seen, _LEAST_STEPS, DataUnit.SETTLED_STEPS)

    def summary(self, state: State) -> Evidence:
        """The distributions of loading times, in seconds: median, 95th percentile, longest."""
        return {
            f"{what} (seconds: p50, p95, longest)": sketch_quantiles(state[what], _PERCENTS)
            for what in ("making a batch", "waiting for a batch")
            if state.get(what)
        }

    def _judge_processes(self, window: Window, node: str, workers: dict[int, State]) -> Finding:
        processes = sum(int(own["processes"]) for own in workers.values())
        cores = max(int(own["cores"]) for own in workers.values())
        percent = 100 * processes / cores
        is_few, is_many = percent < self.min_threshold, percent > self.max_threshold
        waiting = [own for own in workers.values() if own.get("waiting", 0.0) >= _WAITING]
        # whoever has too many has them in vain, whatever it costs
        hurts = self.is_classic or any(is_many or _costs(own) for own in waiting)
        if not ((is_few or is_many) and hurts):
            return self.recovered(f"{node}/processes")
        waits = 100 * max(float(own.get("waiting", 0.0)) for own in workers.values())
        share = f" ({percent:.0f} %)" if processes else ""
        answer = _answer(window, workers)
        return self.finding(
            f"{node} has too {'few' if is_few else 'many'} loader processes: {processes} for "
            f"{cores} cores{share}; steps wait for data {waits:.0f} % of their time.",
            node=node,
            worker=next(iter(workers)) if len(workers) == 1 else None,
            subject=f"{node}/processes",
            advice=f"{answer.advice} {_WHERE}" if answer and answer.advice else self.pages().advice,
            evidence={
                "loader_processes": processes,
                "loader_processes_advised": None if answer is None else answer.advised,
                "cores": cores,
                "percent_of_the_cores": percent,
                "lost_percent": waits,
            },
        )

    def _judge_pinning(self, node: str, workers: dict[int, State]) -> Finding:
        unpinned = [
            rank
            for rank, own in workers.items()
            if own["is_on_gpu"] and not own["is_pinning"]
            if self.is_classic or own.get("copying", 0.0) >= _COPYING
        ]
        if not unpinned:
            return self.recovered(f"{node}/pinning")
        copies = 100 * max(float(workers[rank].get("copying", 0.0)) for rank in unpinned)
        return self.finding(
            f"{node}: batches are copied to the GPU from memory that is not pinned; that takes "
            f"{copies:.0f} % of a step.",
            severity=Severity.INFO,
            node=node,
            subject=f"{node}/pinning",
            advice="Set pin_memory=True in the data loader, and copy with non_blocking=True.",
            evidence={"lost_percent": copies, "workers": [float(rank) for rank in unpinned]},
        )


def _answer(window: Window, workers: dict[int, State]) -> TrainingLoader | None:
    """How many processes each worker should have: as of the one that waits most."""
    worst = max(workers, key=lambda rank: float(workers[rank].get("waiting", 0.0)))
    return loader_of(window, worst, workers[worst])


def _note_loaders(window: Window, state: State) -> None:
    """Keeps what the loader that serves training is like, and how long batches take."""
    for rank, table in window.operations(_LOADING, ("name", "duration_ns")).items():
        rows = table.to_pydict()
        own = state.of("workers", rank)
        has_begun = Operation.START.value in rows["name"]
        record = training_loader(window, rank) if has_begun else None
        if record is not None:
            own["processes"] = record.facts.processes
            own["cores"] = record.facts.cores
            own["is_pinning"] = record.facts.is_pinning
        is_batch = np.array(rows["name"]) == Operation.BATCH.value
        seconds = np.array(rows["duration_ns"])[is_batch] / NANOSECONDS
        add_to_sketch(state.of("making a batch"), seconds)
    for steps in window.steps():
        if "processes" not in state.of("workers", steps.worker):
            continue  # it has no loader
        waited = steps.phases_ns[Phase.DATA_WAIT.value] / NANOSECONDS
        add_to_sketch(state.of("waiting for a batch"), waited)


def _note_steps(window: Window, table: StepTable, own: State) -> None:
    """Keeps how much of its latest steps a worker waits, and copies."""
    waits = Waits.of(table)
    own["steps"] = own.get("steps", 0) + len(waits.steps)
    if len(waits.steps) < _FEW_STEPS:
        waits = waits.without_starts(window).without_longest()
    whole = float(waits.whole.sum())
    if len(waits.steps) < _LEAST_STEPS or whole <= 0:
        return
    own["waiting"] = float(waits.seconds.sum()) / whole
    if own["waiting"] >= _WAITING:  # else nobody need look at the machine
        wanted = cores_wanted(own.get("processes", 0), own.get("cores", 1))
        own["core"] = share_of_a_core(window, table, own.get("core", 1.0), wanted)
    core = own.get("core", 1.0)
    own["wait_seconds"] = core * float(waits.seconds.mean())
    own["step_seconds"] = float((waits.whole - waits.seconds).mean())
    own["waited"] = own.get("waited", 0.0) + float(waits.seconds.sum())
    copied_ns = float(table.phases_ns[Phase.HOST_TO_DEVICE.value].sum())
    own["copying"] = copied_ns / max(1.0, float(table.durations_ns.sum()))


def _costs(own: State) -> bool:
    is_long = float(own.get("wait_seconds", 0.0)) >= _LEAST_SECONDS
    return is_long and float(own.get("waited", 0.0)) >= _LEAST_WAITED
