"""Base class of CPUBottleneck and IOBottleneck: a host resource is saturated while GPUs wait."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.bottlenecks import find_bottleneck
from sonde.analyze.resources import BUSY_GPU_PERCENT
from sonde.analyze.shares import share_bounds
from sonde.clock import NANOSECONDS
from sonde.read.window import Samples, Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric
from sonde.records.shortfall import Shortfall
from sonde.rules._parameters import Patience, Percent
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import State
from sonde.rules.measures.system_samples import (
    SampleFilter,
    Values,
    missing_samples,
    values_at,
)

GPU = "gpu.utilization_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of Bottleneck.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_samples: int = 60  # half a minute at the default interval
    bound_deviations: float = 2.0  # 95% confidence
    similar_samples: float = 4.0  # neighbors count as one: utilization lasts for seconds


LIMITS = Calibration()


class Bottleneck(ProfilingRule):
    """The share of samples in which a host resource is saturated and the GPUs are nearly idle."""

    threshold: Percent = 50.0
    gpu_threshold: Percent = BUSY_GPU_PERCENT
    patience: Patience = "auto"

    calibration = LIMITS
    metric: ClassVar[str]
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LowGPUUtilization",)

    @property
    @abstractmethod
    def limit(self) -> float:
        """The load in percent above which the host is saturated."""

    @abstractmethod
    def load(self, window: Window, host: Samples) -> Values:
        """Return the load of a node at each of its samples, in percent."""

    @abstractmethod
    def message(self, node: str, share: float) -> str:
        """Return the message of a finding."""

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count the samples of each node in which the host is saturated and the GPUs are idle."""
        sample_filter = SampleFilter(self.patience, self.is_classic, is_early=not self.is_classic)
        sample_filter.begin(window, state)
        gpus: dict[str, list[Samples]] = {}
        for item in window.system(GPU):
            gpus.setdefault(item.node, []).append(item)
        state["gpus"] = max(state.get("gpus", 0), len(gpus))
        hosts = [samples for samples in window.system(self.metric) if not samples.device]
        state["hosts"] = max(state.get("hosts", 0), len(hosts))
        for host in hosts:
            if host.node in gpus:
                gpu_values = [values_at(gpu, host.times_ns) for gpu in gpus[host.node]]
                row = (self.load(window, host), np.mean(gpu_values, axis=0))
                counted = np.stack(
                    sample_filter.take(state, host.node, host.times_ns, *row), axis=1
                )
                node = state.of("nodes", host.node)
                if len(counted):
                    self._add(node, counted[~np.isnan(counted).any(axis=1)], len(gpu_values))
        for name, node in state.of("nodes").items():
            if node.get("count"):
                yield from self._judged(name, State(node), is_last=window.is_last)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [node.get("count", 0) for node in state.of("nodes").values()]
        has, needed = max(counts, default=0), 1 if self.is_classic else LIMITS.min_samples
        return missing_samples(has, needed, self.patience, state)

    def unfit(self, state: State) -> str:
        """The metrics that were not recorded."""
        has = {GPU: state.get("gpus", 0), self.metric: state.get("hosts", 0)}
        return " and ".join(Metric(name).missing for name, count in has.items() if not count)

    def summary(self, state: State) -> Evidence:
        """The percentage of such samples, by node."""
        return {
            f"{name}: percent of samples": _share(node)
            for name, node in state.of("nodes").items()
            if node.get("count")
        }

    def _add(self, node: State, rows: Values, gpus: int) -> None:
        result = find_bottleneck(rows[:, 1], rows[:, 2], self.limit, self.gpu_threshold)
        held_up = rows[result.is_held_up]
        node["count"] = node.get("count", 0) + len(rows)
        node["held_up"] = node.get("held_up", 0) + len(held_up)
        if len(rows):
            node["until_ns"] = int(rows[-1, 0])
            node.setdefault("since_ns", int(rows[0, 0]))
        node["lost"] = node.get("lost", 0.0) + gpus * float((1 - held_up[:, 2] / 100).sum())
        if len(held_up):
            node["load"] = float(held_up[:, 1].mean())

    def _judged(self, name: str, node: State, *, is_last: bool) -> Iterator[Finding]:
        share, needed = _share(node), 1 if self.is_classic else LIMITS.min_samples
        count = node["count"] / LIMITS.similar_samples
        at_least, _ = share_bounds(share / 100, count, LIMITS.bound_deviations)
        is_certain = self.is_classic or is_last or 100 * at_least > self.threshold
        if node["count"] < needed or share <= self.threshold:
            yield self.recovered(name)
        elif is_certain:
            yield self._finding(name, node, share, 100 * at_least)

    def _finding(self, name: str, node: State, share: float, at_least: float) -> Finding:
        seconds = (node["until_ns"] - node["since_ns"]) / NANOSECONDS
        return self.finding(
            self.message(name, share),
            node=name,
            subject=name,
            time_ns=(node["since_ns"], node["until_ns"]),
            evidence={
                "share_percent": share,
                "share_percent_at_least": at_least,
                "datapoints": node["count"],
                "load_percent": node["load"],
                "lost_percent": share,
                "gpu_hours_lost": node["lost"] * seconds / max(1, node["count"] - 1) / 3600,
            },
        )


def _share(node: State) -> float:
    return 100 * float(node["held_up"]) / max(1, int(node["count"]))
