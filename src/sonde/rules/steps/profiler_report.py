"""ProfilerReport: all profiling rules together, and the numbers of the job as a whole."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric, Steps
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State

_METRICS = ("cpu.utilization_percent", "gpu.utilization_percent", "gpu.memory_used_percent")
_PERCENTS = (50.0, 95.0, 100.0)


class ProfilerReport(Rule):
    """How does the job do as a whole? Asks all profiling rules; itself it never fires.

    Why it matters: one name for everything about time and machines, as people know it.
    How it decides: who asks for it asks for CPUBottleneck, IOBottleneck, LowGPUUtilization,
    BatchSize, GPUMemoryIncrease, LoadBalancing, StepOutlier, MaxInitializationTime, Dataloader,
    OverallSystemUsage and OverallFrameworkMetrics too. Their parameters can be set through it:
    `CPUBottleneck_threshold` is the threshold of CPUBottleneck. A parameter that is set at the rule
    itself goes before. Its own numbers: steps, how long they take, and how busy processors and GPUs
    are in the mean.
    What to do: read what the rules say, and begin with the cause.
    """

    covers: ClassVar[tuple[str, ...]] = (
        *("CPUBottleneck", "IOBottleneck", "LowGPUUtilization", "BatchSize", "GPUMemoryIncrease"),
        *("LoadBalancing", "StepOutlier", "MaxInitializationTime", "Dataloader"),
        *("OverallSystemUsage", "OverallFrameworkMetrics"),
    )
    needs = (Steps(Mode.TRAIN.value), *map(Metric, _METRICS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up."""
        for table in window.steps():
            state["steps"] = max(state.get("steps", 0), int(table.steps[-1]) + 1)
            add_to_sketch(state.of("seconds"), table.durations_ns / NANOSECONDS)
        for metric in _METRICS:
            for samples in window.system(metric):
                if not samples.device.startswith("cpu"):  # one core of many
                    own = state.of("metrics", metric)
                    own["sum"] = own.get("sum", 0.0) + float(samples.values.sum())
                    own["count"] = own.get("count", 0) + len(samples)
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Steps, their length, and means over the whole job."""
        found: dict[str, float | list[float]] = {"training steps": float(state.get("steps", 0))}
        if state.get("seconds"):
            lengths = sketch_quantiles(state["seconds"], _PERCENTS)
            found["step seconds (p50, p95, longest)"] = lengths
        for metric, own in state.of("metrics").items():
            found[f"mean {metric}"] = own["sum"] / own["count"]
        return found
