"""OverallSystemUsage: how much of each node the job used."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.read.window import Samples, Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric
from sonde.rules._rule import Rule, State

_METRICS = (
    *("cpu.utilization_percent", "cpu.iowait_percent", "memory.used_percent"),
    *("gpu.utilization_percent", "gpu.memory_used_percent", "gpu.power_watts"),
    *("disk.read_bytes_per_second", "disk.write_bytes_per_second"),
    *("network.receive_bytes_per_second", "network.transmit_bytes_per_second"),
)
_PERCENTS = (50.0, 95.0, 99.0)


class OverallSystemUsage(Rule):
    """How much of each node does the job use? Statistics: it never fires.

    Why it matters: what a job leaves unused could be a smaller machine, or a second job.
    How it decides: for every node and metric, all GPUs, disks or network interfaces of it together:
    the least, the median, the 95th and 99th percentile and the highest value of the whole job. The
    percentiles are right to within a hundredth of their value.
    What to do: compare the nodes with each other and with what was paid for.
    """

    needs = tuple(map(Metric, _METRICS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Counts all values."""
        for metric in _METRICS:
            nodes: dict[str, list[Samples]] = {}
            for samples in window.system(metric):
                if not samples.device.startswith("cpu"):  # one core of many
                    nodes.setdefault(samples.node, []).append(samples)
            for node, parts in nodes.items():
                own = state.of(f"{node} {metric}")
                values = np.concatenate([one.values for one in parts])
                least, most = float(values.min()), float(values.max())
                own["least"] = min(own.get("least", least), least)
                own["most"] = max(own.get("most", most), most)
                add_to_sketch(own.of("sketch"), values.astype(np.float64))
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Least, median, 95th and 99th percentile, and highest, of each node and metric."""
        return {
            name: [
                own["least"],
                *np.clip(
                    sketch_quantiles(own["sketch"], _PERCENTS), own["least"], own["most"]
                ).tolist(),
                own["most"],
            ]
            for name, own in state.items()
        }
