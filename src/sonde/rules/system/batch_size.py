"""BatchSize: there is room for larger batches on every side."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.records.step import Phase
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import (
    Counting,
    Instants,
    Values,
    datapoints_of,
    full_windows,
    values_at,
)

_CPU, _GPU, _MEMORY = (
    *("cpu.utilization_percent", "gpu.utilization_percent"),
    "gpu.memory_used_percent",
)
_IN_A_ROW = 2  # windows, calibrated
_IDLE = 1.0  # percent: a GPU that does nothing at all is another rule's matter
_WAITING = 0.2  # of the steps: who waits for data so long gains nothing from larger batches


class BatchSize(Rule):
    """Processors, GPUs and their memory are all little used: batches could be larger.

    Why it matters: with larger batches the same GPUs do more per second, at the same price.
    How it decides: per node, over windows of datapoints, the 95th percentiles of CPU utilization,
    of GPU utilization and of GPU memory are all below their thresholds; of several GPUs the busiest
    and the fullest count. Calibrated looks only at the time between the first and the last training
    step, wants two such windows in a row, and is silent where steps wait for data for a fifth of
    their time or the GPUs do nothing at all: batches are not what holds these up.
    What to do: raise the batch size until GPU or memory are at work, and the learning rate with it;
    or take a smaller GPU, or put several jobs on one.
    """

    cpu_threshold_p95: Percent = 70.0
    gpu_threshold_p95: Percent = 70.0
    gpu_memory_threshold_p95: Percent = 70.0
    window: Count = 500
    patience: Patience = "auto"

    needs = (Metric(_CPU), Metric(_GPU), Metric(_MEMORY))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 120.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LowGPUUtilization",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collects datapoints until a window of them is full, node by node."""
        counting = Counting(self.patience, self.is_classic)
        counting.begin(window, state)
        _note_waits(window, state)
        sides = {metric: _by_node(window, metric) for metric in (_CPU, _GPU, _MEMORY)}
        for metric, found in sides.items():
            state.of("seen")[metric] = bool(found) or state.of("seen").get(metric, False)
        for name in sorted(set(sides[_CPU]) & set(sides[_GPU]) & set(sides[_MEMORY])):
            times_ns = sides[_CPU][name][0].times_ns
            columns = [_highest(sides[one][name], times_ns) for one in (_CPU, _GPU, _MEMORY)]
            is_known = ~np.isnan(columns).any(axis=0)
            counted = counting.take(
                state, name, times_ns[is_known], *(one[is_known] for one in columns)
            )
            node = state.of("nodes", name)
            for rows in full_windows(node, counted, self.window):
                yield self._judge(name, rows, node, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        needed = self.window if self.is_classic else self.window * _IN_A_ROW
        nodes = state.of("nodes").values()
        has = max((datapoints_of(one, self.window) for one in nodes), default=0)
        return "" if has >= needed else Shortfall(has, needed, DataUnit.SYSTEM_SAMPLES)

    def unfit(self, state: State) -> str:
        """It needs all three."""
        seen = state.of("seen").items()
        return " and ".join(Metric(name).missing for name, is_seen in seen if not is_seen)

    def _judge(self, name: str, rows: Values, node: State, state: State) -> Finding:
        cpu, gpu, memory = (float(one) for one in np.percentile(rows[:, 1:], 95, axis=0))
        is_small = (
            cpu < self.cpu_threshold_p95
            and gpu < self.gpu_threshold_p95
            and memory < self.gpu_memory_threshold_p95
        )
        if not self.is_classic:
            is_small = is_small and gpu >= _IDLE and not _is_waiting(state)
        node["in_a_row"] = node.get("in_a_row", 0) + 1 if is_small else 0
        if node["in_a_row"] < (1 if self.is_classic else _IN_A_ROW):
            return self.recovered(name)
        first_ns, last_ns = int(rows[0, 0]), int(rows[-1, 0])
        return self.finding(
            f"{name}: at their busiest (95th percentile over "
            f"{(last_ns - first_ns) / NANOSECONDS:.0f} s) the processors are at {cpu:.0f} %, the "
            f"GPUs at {gpu:.0f} % and their memory at {memory:.0f} %: batches could be larger.",
            node=name,
            subject=name,
            time_ns=(first_ns, last_ns),
            evidence={
                "cpu_p95": cpu,
                "gpu_p95": gpu,
                "gpu_memory_p95": memory,
                "datapoints": len(rows),
            },
        )


def _by_node(window: Window, metric: str) -> dict[str, list[Samples]]:
    found: dict[str, list[Samples]] = {}
    for one in window.system(metric):
        if metric != _CPU or not one.device:
            found.setdefault(one.node, []).append(one)
    return found


def _highest(samples: list[Samples], times_ns: Instants) -> Values:
    return np.asarray(np.max([values_at(one, times_ns) for one in samples], axis=0))


def _note_waits(window: Window, state: State) -> None:
    """Keeps how much of the steps was spent waiting for data, the latest counting most."""
    waited_ns = whole_ns = 0
    for table in window.steps():
        waited_ns += int(table.phases_ns[Phase.DATA_WAIT.value].sum())
        whole_ns += int(table.durations_ns.sum())
    if whole_ns:
        share = waited_ns / whole_ns
        state["waiting"] = 0.5 * (state.get("waiting", share) + share)


def _is_waiting(state: State) -> bool:
    return float(state.get("waiting", 0.0)) >= _WAITING
