"""BatchSize: CPU, GPU and GPU memory have room for larger batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.durations import time_percent
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_factor, format_percent
from sonde.read.window import Samples, Window
from sonde.records.advice import Basis, Bottleneck, Gain, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.data_waits import Waits
from sonde.rules.measures.early_samples import (
    count_steps,
    holds_in_each_quarter,
    is_due,
    latest_quarter,
    min_samples,
    recent_rows,
)
from sonde.rules.measures.gpu_memory import GPUMemory
from sonde.rules.measures.system_samples import (
    Instants,
    SampleFilter,
    Values,
    full_windows,
    missing_samples,
    sample_count,
    values_at,
)

_CPU, _GPU, _MEMORY = (
    *("cpu.utilization_percent", "gpu.utilization_percent"),
    "gpu.memory_used_percent",
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of BatchSize.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    idle_percent: float = 1.0  # IdleGPU reports idle GPUs
    waiting_share: float = 0.2  # of the step time; larger batches would not help
    smoothing: float = 0.1  # weight of the latest window in the waiting share: two minutes


LIMITS = Calibration()


class BatchSize(ProfilingRule):
    """CPU, GPU and GPU memory all have room for larger batches.

    Why it matters: Larger batches do more work per second on the same GPUs, at the same price.
    How it decides:
    - Per node, the 95th percentiles of CPU utilization, GPU utilization and GPU memory (of the
      busiest GPU) are all below their thresholds.
    - This holds in each quarter of the last 2 windows of `window` samples, and at the start of
      training in each quarter of the samples so far, from 60 samples (30 s) on. Each quarter must
      contain the end of a training step. Classic: over 1 window after `patience`.
    - The first 3 steps, steps that mostly evaluate or save a checkpoint, and samples outside
      training do not count. Classic: all samples after `patience` count.
    - Not applied if steps spend 20% of their time waiting for data, or if GPUs are idle (see
      IdleGPU). The first 10 steps, profiled steps, evaluation and checkpoints do not count.
    What to do: Increase the batch size until GPU or memory is well used, and scale the learning
    rate with it. Or use a smaller GPU, or run several jobs on one.
    """

    cpu_threshold_p95: Percent = 70.0
    gpu_threshold_p95: Percent = 70.0
    gpu_memory_threshold_p95: Percent = 70.0
    window: Count = 500
    patience: Patience = "auto"

    section = Section.MACHINE
    calibration = LIMITS
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **ProfilingRule.classic_defaults,
        "patience": 100,
    }
    needs = (Metric(_CPU), Metric(_GPU), Metric(_MEMORY))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LowGPUUtilization",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collect samples of each node and check those so far; classic: each complete window."""
        sample_filter = SampleFilter(self.patience, self.is_classic, is_early=not self.is_classic)
        sample_filter.begin(window, state)
        training = GPUMemory.update(window, state)
        if training is not None:
            state["memory_room"] = training.largest_batch_factor
        _update_waiting_share(window, state)
        series = {metric: _by_node(window, metric) for metric in (_CPU, _GPU, _MEMORY)}
        for metric, nodes in series.items():
            state.of("seen")[metric] = bool(nodes) or state.of("seen").get(metric, False)
        for name in sorted(set(series[_CPU]) & set(series[_GPU]) & set(series[_MEMORY])):
            times_ns = series[_CPU][name][0].times_ns
            columns = [_highest(series[item][name], times_ns) for item in (_CPU, _GPU, _MEMORY)]
            is_known = ~np.isnan(columns).any(axis=0)
            node = state.of("nodes", name)
            times_ns = times_ns[is_known]
            known = [column[is_known] for column in columns]
            if self.is_classic:
                counted = sample_filter.take(state, name, times_ns, *known)
                for rows in full_windows(node, counted, self.window):
                    is_small = self._is_small(rows)
                    yield self._finding(name, rows, state) if is_small else self.recovered(name)
                continue
            steps = count_steps(window, state, times_ns)
            counted = sample_filter.take(state, name, times_ns, *known, steps)
            rows = recent_rows(node, counted, self.window)
            if is_due(node, rows, self._needed, is_last=window.is_last):
                yield from self._judge(name, rows, state)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        nodes = state.of("nodes").values()
        has = max((sample_count(node, self.window) for node in nodes), default=0)
        return missing_samples(has, self._needed, self.patience, state)

    def unfit(self, state: State) -> str:
        """The metrics that were not recorded."""
        metrics = state.of("seen").items()
        return " and ".join(
            Metric(name).missing for name, is_recorded in metrics if not is_recorded
        )

    @property
    def _needed(self) -> int:
        if self.is_classic:
            return self.window
        return min_samples(self.window, is_explicit="window" in self.explicit_parameters)

    def _is_small(self, rows: Values) -> bool:
        cpu, gpu, memory = _highest_percents(rows)
        return (
            cpu < self.cpu_threshold_p95
            and gpu < self.gpu_threshold_p95
            and memory < self.gpu_memory_threshold_p95
            and (self.is_classic or gpu >= LIMITS.idle_percent)
        )

    def _judge(self, name: str, rows: Values, state: State) -> Iterator[Finding]:
        is_waiting = _is_waiting(state)
        if not is_waiting and holds_in_each_quarter(rows, self._is_small):
            yield self._finding(name, rows, state)
        elif is_waiting or not self._is_small(latest_quarter(rows)):
            yield self.recovered(name)

    def _finding(self, name: str, rows: Values, state: State) -> Finding:
        cpu, gpu, memory = _highest_percents(rows)
        first_ns, last_ns = int(rows[0, 0]), int(rows[-1, 0])
        length = format_duration((last_ns - first_ns) / NANOSECONDS)
        return self.finding(
            f"{name}: the 95th percentiles over {length} are CPU {format_percent(cpu)}, "
            f"GPU {format_percent(gpu)} and GPU memory {format_percent(memory)}. "
            "Batches could be larger.",
            node=name,
            subject=name,
            time_ns=(first_ns, last_ns),
            improvement=_improvement(gpu, state.get("memory_room") or 100 / max(memory, 1.0)),
            evidence={
                "cpu_p95": cpu,
                "gpu_p95": gpu,
                "gpu_memory_p95": memory,
                "datapoints": len(rows),
            },
        )


def _highest_percents(rows: Values) -> tuple[float, float, float]:
    """The 95th percentiles of CPU utilization, GPU utilization and GPU memory."""
    cpu, gpu, memory = (float(item) for item in np.percentile(rows[:, 1:4], 95, axis=0))
    return cpu, gpu, memory


def _improvement(gpu_percent: float, memory_room: float) -> Improvement:
    """The batch that GPU and memory have room for."""
    room = min(100 / max(gpu_percent, 1.0), memory_room)
    reason = (
        f"the GPU is busy for {format_percent(gpu_percent)} of the time, and its memory holds up "
        f"to {format_factor(memory_room)} the batch. Counted in samples."
    )
    gain = Gain((1 + room) / 2, 1.0, room, Basis.MODELED, reason)
    remedy = Remedy("a larger batch", f"batch_size *= {max(2, int(room))}", gain)
    return Improvement(Bottleneck.HOST, (remedy,))


def _by_node(window: Window, metric: str) -> dict[str, list[Samples]]:
    result: dict[str, list[Samples]] = {}
    for samples in window.system(metric):
        if metric != _CPU or not samples.device:
            result.setdefault(samples.node, []).append(samples)
    return result


def _highest(samples: list[Samples], times_ns: Instants) -> Values:
    return np.asarray(np.max([values_at(sample, times_ns) for sample in samples], axis=0))


def _update_waiting_share(window: Window, state: State) -> None:
    """Update the share of step time spent waiting for data, as a moving average."""
    waits = [Waits.of(table) for table in window.steps()]
    step_seconds = sum(float(worker.step_seconds.sum()) for worker in waits)
    if step_seconds:
        share = time_percent([worker.seconds.sum() for worker in waits], step_seconds) / 100
        before = state.get("waiting", share)
        state["waiting"] = (1 - LIMITS.smoothing) * before + LIMITS.smoothing * share


def _is_waiting(state: State) -> bool:
    return float(state.get("waiting", 0.0)) >= LIMITS.waiting_share
