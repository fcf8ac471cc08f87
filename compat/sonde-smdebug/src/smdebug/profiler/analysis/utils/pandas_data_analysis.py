"""Statistics of data frames with samples and events."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import pandas as pd

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_STEP = "Step:ModeKeys"
_RANGES = ((90, 100), (10, 90), (0, 10))


class StatsBy(Enum):
    """What step statistics are grouped by."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(Enum):
    """A kind of system metrics."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"


class PandasFrameAnalysis:
    """Statistics of the data frames of a `PandasFrame`."""

    def __init__(self, system_df: "pd.DataFrame", framework_df: "pd.DataFrame") -> None:
        self.sys_metrics_df = system_df
        self.framework_metrics_df = framework_df

    def get_job_statistics(self) -> dict[str, Any]:
        """When the recorded events began and ended, and the time of each training phase."""
        frame = self.framework_metrics_df
        if not len(frame):
            return {}
        steps = self._steps()
        times = (steps.end_time_us - steps.start_time_us).groupby(steps.framework_metric).sum()
        return {
            "start_time": frame.start_time.min(),
            "end_time": frame.end_time.max(),
            "job_duration": int(frame.end_time_us.max() - frame.start_time_us.min()),
            "training_phase": {str(name): int(time) for name, time in times.items()},
        }

    def get_step_statistics(self, by: StatsBy = StatsBy.TRAINING_PHASE) -> "pd.DataFrame":
        """Durations in microseconds: mean, min, max and quantiles of each group."""
        frame = self._steps() if by == StatsBy.TRAINING_PHASE else self.framework_metrics_df
        column = "process" if by == StatsBy.PROCESS else "framework_metric"
        durations = frame.end_time_us - frame.start_time_us
        return _statistics(durations, [frame[column]], [by.value])

    def get_utilization_stats(
        self,
        resource: Resource | Sequence[Resource] | None = None,
        by: StatsBy | None = None,
        phase: Sequence[str] | None = None,
    ) -> "pd.DataFrame":
        """Values of each node and metric: mean, min, max and quantiles.

        Args:
            resource: Only these kinds of metrics.
            by: With TRAINING_PHASE, for samples during each phase.
            phase: Only these phases.
        """
        frame = self._of_resources(resource)
        keys, names = [frame.nodeID, frame.type, frame.dimension], ["node", "Resource", "metric"]
        if by != StatsBy.TRAINING_PHASE:
            return _statistics(frame.value, keys, names)
        tables = []
        for name, intervals in self._intervals(phase).items():
            part = frame[_is_within(frame.timestamp_us, intervals)]
            keys = [part.nodeID, part.type, part.dimension]
            tables.append(_statistics(part.value, keys, names).assign(**{by.value: name}))
        return pd.concat(tables, ignore_index=True) if tables else _statistics(frame.value[:0])

    def get_device_usage_stats(
        self,
        device: Resource | Sequence[Resource] | None = None,
        utilization_ranges: Sequence[tuple[float, float]] | None = None,
    ) -> "pd.DataFrame":
        """The share of samples of each node in ranges of utilization, in percent."""
        frame = self._of_resources(device or (Resource.CPU, Resource.GPU))
        frame = frame[frame.dimension.isin(("CPUUtilization", "GPUUtilization"))]
        rows = []
        for (node, kind), values in frame.groupby(["nodeID", "type"]).value:
            row: dict[str, Any] = {"nodeID": node, "Resource": kind}
            for low, high in utilization_ranges or _RANGES:
                is_in_range = (values > low) & (values <= high) if low else values <= high
                row[f"{low}-{high}"] = 100.0 * float(is_in_range.mean())
            rows.append(row)
        return pd.DataFrame(rows)

    def get_training_phase_intervals(self, phase: Sequence[str] | None = None) -> "pd.DataFrame":
        """The first and the last instant of consecutive steps of each phase."""
        steps = self._steps().sort_values("start_time_us")
        changes = (steps.framework_metric != steps.framework_metric.shift()).cumsum()
        rows = [
            {
                "start_time_us": part.start_time_us.min(),
                "end_time_us": part.end_time_us.max(),
                "phase": part.framework_metric.iloc[0],
            }
            for _, part in steps.groupby(changes)
            if phase is None or part.framework_metric.iloc[0] in phase
        ]
        return pd.DataFrame(rows, columns=["start_time_us", "end_time_us", "phase"])

    def _steps(self) -> "pd.DataFrame":
        frame = self.framework_metrics_df
        return frame[frame.framework_metric.str.startswith(_STEP)]

    def _intervals(self, phase: Sequence[str] | None) -> dict[str, "pd.DataFrame"]:
        intervals = self.get_training_phase_intervals(phase)
        return {str(name): part for name, part in intervals.groupby("phase")}

    def _of_resources(self, resource: Resource | Sequence[Resource] | None) -> "pd.DataFrame":
        frame = self.sys_metrics_df
        if resource is None:
            return frame
        selected = [resource] if isinstance(resource, Resource) else resource
        return frame[frame.type.isin([each.value for each in selected])]


def _statistics(
    values: "pd.Series[float]", keys: Sequence[Any] = (), names: Sequence[str] = ()
) -> "pd.DataFrame":
    columns = ["mean", "min", "max", *_QUANTILES]
    if not len(values):
        return pd.DataFrame(columns=[*names, *columns])
    groups = values.groupby(list(keys))
    table = pd.DataFrame({name: getattr(groups, name)() for name in ("mean", "min", "max")})
    for name, quantile in _QUANTILES.items():
        table[name] = groups.quantile(quantile)
    return table.rename_axis(list(names)).reset_index()


def _is_within(times: "pd.Series[int]", intervals: "pd.DataFrame") -> "pd.Series[bool]":
    is_within = pd.Series(data=False, index=times.index)
    for first, last in zip(intervals.start_time_us, intervals.end_time_us, strict=True):
        is_within |= times.between(first, last)
    return is_within
