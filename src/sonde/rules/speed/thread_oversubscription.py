"""ThreadOversubscription: the job runs more computing threads than the machine has cores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.analyze.speedups import upper_bound
from sonde.formats import format_count, format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import PREDICTS, Bottleneck, Improvement, Remedy
from sonde.records.finding import Evidence, Finding, Severity
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.node_loads import LOAD_METRICS, NodeLoad, node_loads
from sonde.rules.measures.training_kind import begin_attempt

_RUNNING = "cpu.running_threads"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ThreadOversubscription.

    Chosen by hand unless a comment says otherwise.
    """

    windows_in_a_row: int = 3  # of 5 seconds
    threads_per_core: float = 1.5
    full_percent: float = 90.0  # of all cores; below, threads do not wait for each other
    max_others_percent: float = 10.0  # of all cores; CPUContention reports other processes
    warning_percent: float = 60.0


LIMITS = Calibration()


class ThreadOversubscription(Rule):
    """The job runs more computing threads than the machine has cores.

    Why it matters: Threads that share a core interrupt each other in the middle of an operation,
    and the others of the same operation wait for the slowest one.
    How it decides:
    - 1.5 threads or more per core want to run, 90% of all cores are busy, and less than 10% of them
      with processes that do not belong to the job.
    - The job's main threads spend more than `threshold` percent of their runnable time waiting for
      a core.
    - All of this must hold for 15 seconds.
    What to do: Divide the cores among the training processes (`OMP_NUM_THREADS`,
    `torch.set_num_threads`), and use fewer data loader processes. With several training processes
    on a node, `torchrun` sets `OMP_NUM_THREADS=1` unless it is set.
    """

    threshold: Percent = 30.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (*map(Metric, LOAD_METRICS), Metric(_RUNNING))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 5.0
    recovers_after: ClassVar[int] = 4
    explains: ClassVar[tuple[str, ...]] = ("CPUBottleneck", "HotFunction", "StepOutlier")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare runnable threads with cores on each node."""
        begin_attempt(window, state)
        running = {
            each.node: float(each.values.mean())
            for each in window.system(_RUNNING)
            if not each.device
        }
        for load in node_loads(window):
            node = state.of("nodes", load.node)
            node["windows"] = node.get("windows", 0) + 1
            threads = running.get(load.node, 0.0)
            is_full = load.job + load.other_processes >= LIMITS.full_percent
            is_own = load.other_processes <= LIMITS.max_others_percent
            is_crowded = threads >= LIMITS.threads_per_core * load.cores
            is_waiting = load.wait > self.threshold
            is_oversubscribed = is_full and is_own and is_crowded and is_waiting
            node["in_a_row"] = node.get("in_a_row", 0) + 1 if is_oversubscribed else 0
            if node["in_a_row"] >= LIMITS.windows_in_a_row:
                yield self._finding(window, load, threads)

    def lacks(self, state: State) -> str | Shortfall:
        """How much time is missing."""
        count = max((node.get("windows", 0) for node in state.of("nodes").values()), default=0)
        needed = LIMITS.windows_in_a_row
        return "" if count >= needed else Shortfall(5 * count, 5 * needed, DataUnit.SECONDS)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _finding(self, window: Window, load: NodeLoad, threads: float) -> Finding:
        ranks = window.attempt.ranks
        workers = sum(window.attempt.node_of(rank) == load.node for rank in ranks) or 1
        each = max(1, load.cores // workers)
        reason = "at most the time that the job's threads wait for a core disappears."
        remedy = Remedy(
            f"{pluralize(each, 'thread')} per training process",
            f"OMP_NUM_THREADS={each} python train.py  # or torch.set_num_threads({each})",
            upper_bound(100.0, load.wait, reason),
        )
        is_large = load.wait > LIMITS.warning_percent
        return self.finding(
            f"{format_count(threads)} threads of the job compete for "
            f"{pluralize(load.cores, 'core')} of {load.node}; they spend "
            f"{format_percent(load.wait)} of their runnable time waiting.",
            severity=Severity.WARNING if is_large else Severity.INFO,
            node=load.node,
            subject=load.node,
            improvement=Improvement(Bottleneck.CORES, (remedy,)),
            evidence={
                "running_threads": threads,
                "cores": load.cores,
                "wait_percent": load.wait,
                "others_percent": load.other_processes,
            },
        )
