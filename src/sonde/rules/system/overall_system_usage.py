"""OverallSystemUsage: how much of each node a job uses."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.read.window import Samples, Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State

_METRICS = (
    *("cpu.utilization_percent", "cpu.iowait_percent", "memory.used_percent"),
    *("gpu.utilization_percent", "gpu.memory_used_percent", "gpu.power_watts"),
    *("disk.read_bytes_per_second", "disk.write_bytes_per_second"),
    *("network.receive_bytes_per_second", "network.transmit_bytes_per_second"),
)
_PERCENTILES = (50.0, 95.0, 99.0)


class OverallSystemUsage(ProfilingRule):
    """How much of each node does the job use? Statistics only: it never fires.

    Why it matters: What a job leaves unused could be a smaller machine, or a second job.
    How it decides:
    - For every node and metric, all devices together: minimum, median, 95th and 99th percentile,
      and maximum over the whole job.
    - The percentiles are accurate to 1%.
    What to do: Compare the nodes with each other and with what you pay for.
    """

    section = Section.MACHINE
    needs = tuple(map(Metric, _METRICS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add the samples of each node and metric to the statistics."""
        for metric in _METRICS:
            nodes: dict[str, list[Samples]] = {}
            for samples in window.system(metric):
                if not samples.device.startswith("cpu"):  # a single core
                    nodes.setdefault(samples.node, []).append(samples)
            for node, series in nodes.items():
                metric_state = state.of(f"{node} {metric}")
                values = np.concatenate([samples.values for samples in series])
                minimum, maximum = float(values.min()), float(values.max())
                metric_state["least"] = min(metric_state.get("least", minimum), minimum)
                metric_state["most"] = max(metric_state.get("most", maximum), maximum)
                add_to_sketch(metric_state.of("sketch"), values.astype(np.float64))
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Minimum, median, 95th and 99th percentile and maximum of each node and metric."""
        return {
            name: [
                metric_state["least"],
                *np.clip(
                    sketch_quantiles(metric_state["sketch"], _PERCENTILES),
                    metric_state["least"],
                    metric_state["most"],
                ).tolist(),
                metric_state["most"],
            ]
            for name, metric_state in state.items()
        }
