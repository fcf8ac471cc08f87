"""Dataloader: the number of loader processes does not fit the cores."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.loading import Operation
from sonde.records.need import Operations
from sonde.records.profile import OperationCategory
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Positive
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.contention import core_share
from sonde.rules.measures.data_waits import Waits
from sonde.rules.measures.training_loader import (
    TrainingLoader,
    cores_needed,
    loader_facts,
    read_training_loader,
)

_LOADING = OperationCategory.LOADING.value
_PERCENTILES = (50.0, 95.0, 100.0)
_WHERE = "`sonde dataloader` shows where the loading time goes."


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Dataloader.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_steps: int = 15
    few_steps: int = 50  # with fewer, the first batches and a single stall would dominate
    waiting_share: float = 0.3  # of the step time; less is hidden by other work
    min_wait_seconds: float = 0.005  # per step; shorter waits are the transfer of a batch
    min_total_seconds: float = 5.0  # of waiting
    copying_share: float = 0.05  # of the step time


LIMITS = Calibration()


class Dataloader(ProfilingRule):
    """The number of loader processes does not match the cores, or memory is not pinned.

    Why it matters: With too few processes the device waits; too many use memory and compete for
    cores. Copies to a GPU from unpinned memory are slow and block the host.
    How it decides:
    - The loader processes of all workers of a node are fewer than `min_threshold` or more than
      `max_threshold` percent of the available cores, and steps wait for data 30% of their time.
    - Too few also requires waits of 5 ms per step and 5 seconds in total; if cores are contended,
      only the share in which the job had a core counts.
    - Needs 15 steps after the first 10. With fewer than 50, the first batches and the longest wait
      do not count.
    - Memory that is not pinned is reported on a GPU if copies take 5% of the step time.
    - Classic: the process and pinning tests alone, whatever the waits.
    What to do: Set `num_workers` to what `sonde dataloader` recommends (never more than there are
    cores for) and `pin_memory=True`. The command also shows where the loader's time goes.
    """

    min_threshold: Positive = 70.0
    max_threshold: Positive = 200.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Operations(_LOADING),)
    window_steps: ClassVar[int] = 50
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the loaders of every worker and the time that its steps wait."""
        _update_loaders(window, state)
        tables = window.steps()
        for table in tables:
            _add_steps(window, table, state.of("workers", table.worker))
        if not tables:
            return
        first_ns = min(int(table.starts_ns.min()) for table in tables)
        time_ns = (first_ns, max(int(table.ends_ns.max()) for table in tables))
        nodes: dict[str, dict[int, State]] = {}
        for life in window.attempt.lives:
            worker_state = state.of("workers", life.info.rank)
            if "processes" in worker_state:
                worker_state["is_on_gpu"] = life.info.is_on_gpu
                nodes.setdefault(life.info.node, {})[life.info.rank] = worker_state
        for node, workers in nodes.items():
            for finding in (
                self._judge_processes(window, node, workers),
                self._judge_pinning(node, workers),
            ):
                yield replace(finding, time_ns=time_ns)

    def lacks(self, state: State) -> str | Shortfall:
        """How many steps are missing."""
        count = max(
            (int(worker.get("steps", 0)) for worker in state.of("workers").values()), default=0
        )
        if self.is_classic or count >= LIMITS.min_steps:
            return ""
        return Shortfall(count, LIMITS.min_steps, DataUnit.SETTLED_STEPS)

    def summary(self, state: State) -> Evidence:
        """Loading times in seconds: median, 95th percentile and maximum."""
        return {
            f"{name} (seconds: p50, p95, longest)": sketch_quantiles(state[name], _PERCENTILES)
            for name in ("making a batch", "waiting for a batch")
            if state.get(name)
        }

    def _judge_processes(self, window: Window, node: str, workers: dict[int, State]) -> Finding:
        processes = sum(int(worker["processes"]) for worker in workers.values())
        cores = max(int(worker["cores"]) for worker in workers.values())
        percent = 100 * processes / cores
        is_few, is_many = percent < self.min_threshold, percent > self.max_threshold
        waiting = [
            worker
            for worker in workers.values()
            if worker.get("waiting", 0.0) >= LIMITS.waiting_share
        ]
        # too many processes do not help if steps wait, however short the waits are
        is_costly = self.is_classic or any(is_many or _is_costly(worker) for worker in waiting)
        if not ((is_few or is_many) and is_costly):
            return self.recovered(f"{node}/processes")
        waits = 100 * max(float(worker.get("waiting", 0.0)) for worker in workers.values())
        share = f" ({format_percent(percent)})" if processes else ""
        loader = _worst_loader(window, workers)
        return self.finding(
            f"{node} has too {'few' if is_few else 'many'} loader processes: {processes} for "
            f"{cores} cores{share}. Steps spend {format_percent(waits)} of their time waiting for "
            "data.",
            node=node,
            worker=next(iter(workers)) if len(workers) == 1 else None,
            subject=f"{node}/processes",
            advice=f"{loader.advice} {_WHERE}" if loader and loader.advice else self.pages().advice,
            evidence={
                "loader_processes": processes,
                "loader_processes_advised": None if loader is None else loader.advised,
                "cores": cores,
                "percent_of_the_cores": percent,
                "lost_percent": waits,
            },
        )

    def _judge_pinning(self, node: str, workers: dict[int, State]) -> Finding:
        unpinned = [
            rank
            for rank, worker_state in workers.items()
            if worker_state["is_on_gpu"] and not worker_state["is_pinning"]
            if self.is_classic or worker_state.get("copying", 0.0) >= LIMITS.copying_share
        ]
        if not unpinned:
            return self.recovered(f"{node}/pinning")
        copies = 100 * max(float(workers[rank].get("copying", 0.0)) for rank in unpinned)
        return self.finding(
            f"{node}: batches are copied to the GPU from unpinned memory, which takes "
            f"{format_percent(copies)} of the step time.",
            severity=Severity.INFO,
            node=node,
            subject=f"{node}/pinning",
            advice="Set pin_memory=True in the data loader and copy with non_blocking=True.",
            evidence={"lost_percent": copies, "workers": [float(rank) for rank in unpinned]},
        )


def _worst_loader(window: Window, workers: dict[int, State]) -> TrainingLoader | None:
    """Return the loader of the worker that waits most."""
    worst = max(workers, key=lambda rank: float(workers[rank].get("waiting", 0.0)))
    return loader_facts(window, worst, workers[worst])


def _update_loaders(window: Window, state: State) -> None:
    """Store the configuration of training loaders and the distribution of loading times."""
    for rank, table in window.operations(_LOADING, ("name", "duration_ns")).items():
        rows = table.to_pydict()
        worker_state = state.of("workers", rank)
        has_begun = Operation.START.value in rows["name"]
        record = read_training_loader(window, rank) if has_begun else None
        if record is not None:
            worker_state["processes"] = record.facts.processes
            worker_state["cores"] = record.facts.cores
            worker_state["is_pinning"] = record.facts.is_pinning
        is_batch = np.array(rows["name"]) == Operation.BATCH.value
        seconds = np.array(rows["duration_ns"])[is_batch] / NANOSECONDS
        add_to_sketch(state.of("making a batch"), seconds)
    for steps in window.steps():
        if "processes" not in state.of("workers", steps.worker):
            continue  # it has no loader
        waited = steps.phases_ns[Phase.DATA_WAIT.value][~steps.is_profiled] / NANOSECONDS
        add_to_sketch(state.of("waiting for a batch"), waited)


def _add_steps(window: Window, table: StepTable, state: State) -> None:
    """Store the shares of waiting and copying in the latest steps of a worker."""
    waits = Waits.of(table)
    state["steps"] = state.get("steps", 0) + len(waits.steps)
    if len(waits.steps) < LIMITS.few_steps:
        waits = waits.without_starts(window).without_longest()
    if len(waits.steps) < LIMITS.min_steps or waits.step_seconds.sum() <= 0:
        return
    state["waiting"] = waits.percent / 100
    if state["waiting"] >= LIMITS.waiting_share:  # reading CPU metrics is expensive
        processes = cores_needed(state.get("processes", 0), state.get("cores", 1))
        state["core"] = core_share(window, table, state.get("core", 1.0), processes)
    core = state.get("core", 1.0)
    state["wait_seconds"] = core * float(waits.seconds.mean())
    state["step_seconds"] = float((waits.step_seconds - waits.seconds).mean())
    state["waited"] = state.get("waited", 0.0) + float(waits.seconds.sum())
    copied_ns = float(table.phases_ns[Phase.HOST_TO_DEVICE.value].sum())
    state["copying"] = copied_ns / max(1.0, float(table.durations_ns.sum()))


def _is_costly(state: State) -> bool:
    is_long = float(state.get("wait_seconds", 0.0)) >= LIMITS.min_wait_seconds
    return is_long and float(state.get("waited", 0.0)) >= LIMITS.min_total_seconds
