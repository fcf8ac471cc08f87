"""ProfilerReport: runs all profiling rules and reports totals of the job."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.analyze.sketch import add_to_sketch, sketch_quantiles
from sonde.clock import NANOSECONDS
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric, Steps
from sonde.records.step import Mode
from sonde.rules._rule import Rule, Section, State

_METRICS = ("cpu.utilization_percent", "gpu.utilization_percent", "gpu.memory_used_percent")
_PERCENTILES = (50.0, 95.0, 100.0)


class ProfilerReport(Rule):
    """How does the job perform overall? Runs all profiling rules; it never fires itself.

    Why it matters: A single rule gives an overview of time and resource usage.
    How it decides:
    - Runs CPUBottleneck, IOBottleneck, LowGPUUtilization, BatchSize, GPUMemoryIncrease,
      LoadBalancing, StepOutlier, MaxInitializationTime, Dataloader, OverallSystemUsage and
      OverallFrameworkMetrics.
    - Sets their parameters: `CPUBottleneck_threshold` is the `threshold` of CPUBottleneck. A
      parameter set on the rule itself takes precedence.
    - Reports the number of steps, their duration, and mean CPU, GPU and GPU memory utilization.
      Durations are those of unprofiled steps, unless there are no others.
    What to do: Read the findings of these rules, and start with the cause.
    """

    covers: ClassVar[tuple[str, ...]] = (
        *("CPUBottleneck", "IOBottleneck", "LowGPUUtilization", "BatchSize", "GPUMemoryIncrease"),
        *("LoadBalancing", "StepOutlier", "MaxInitializationTime", "Dataloader"),
        *("OverallSystemUsage", "OverallFrameworkMetrics"),
    )
    section = Section.SPEED
    needs = (Steps(Mode.TRAIN.value), *map(Metric, _METRICS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 300.0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up steps and system samples."""
        for table in window.steps():
            state["steps"] = max(state.get("steps", 0), int(table.steps[-1]) + 1)
            seconds, is_profiled = table.durations_ns / NANOSECONDS, table.is_profiled
            add_to_sketch(state.of("seconds"), seconds[~is_profiled])
            add_to_sketch(state.of("profiled_seconds"), seconds[is_profiled])
        for metric in _METRICS:
            for samples in window.system(metric):
                if not samples.device.startswith("cpu"):  # a single core
                    metric_state = state.of("metrics", metric)
                    metric_state["sum"] = metric_state.get("sum", 0.0) + float(samples.values.sum())
                    metric_state["count"] = metric_state.get("count", 0) + len(samples)
        yield from ()

    def summary(self, state: State) -> Evidence:
        """Number and duration of steps, and mean utilization over the whole job."""
        result: dict[str, float | list[float]] = {"training steps": float(state.get("steps", 0))}
        sketch = state.get("seconds") or state.get("profiled_seconds")
        if sketch:
            lengths = sketch_quantiles(sketch, _PERCENTILES)
            result["step seconds (p50, p95, longest)"] = lengths
        for metric, metric_state in state.of("metrics").items():
            result[f"mean {metric}"] = metric_state["sum"] / metric_state["count"]
        return result
