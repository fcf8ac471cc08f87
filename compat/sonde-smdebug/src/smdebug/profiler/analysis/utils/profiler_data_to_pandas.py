"""System metrics and events of workers as data frames of pandas."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd

from smdebug.profiler.events import matches, system_events, trace_events
from smdebug.profiler.utils import open_job, start_microseconds

_SYSTEM = (*("timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type"),)
_FRAMEWORK = (
    *("start_time", "end_time", "start_time_us", "end_time_us", "tid", "pid"),
    *("framework_metric", "step", "bytes", "process", "nodeID"),
)


class PandasFrame:
    """Reads a job into data frames; times in microseconds are relative to its start."""

    def __init__(
        self, path: str, use_in_memory_cache: bool = False, scan_interval: float = 5e9
    ) -> None:
        del use_in_memory_cache, scan_interval
        self.path = path
        self.job = open_job(path)
        self.start_time = start_microseconds(self.job)

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> "pd.DataFrame":
        """All samples of machines.

        Args:
            selected_system_metrics: Only metrics whose names match one of these.
        """
        rows = [
            (
                _date(round(each.timestamp * 10**6)),
                round(each.timestamp * 10**6) - self.start_time,
                each.value,
                each.name,
                each.dimension,
                each.node_id,
                each.type,
            )
            for each in system_events(self.job)
            if matches(selected_system_metrics, each.name)
        ]
        return pd.DataFrame(rows, columns=list(_SYSTEM))

    def get_all_framework_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> "pd.DataFrame":
        """All events of workers.

        Args:
            selected_framework_metrics: Only events whose names match one of these.
        """
        rows = [
            (
                _date(each.start_time),
                _date(each.end_time),
                each.start_time - self.start_time,
                each.end_time - self.start_time,
                each.tid,
                each.pid,
                each.event_name,
                int(each.event_args["step_num"]),
                -1,
                each.event_args["mode"],
                each.node_id,
            )
            for each in trace_events(self.job)
            if matches(selected_framework_metrics, each.event_name)
        ]
        return pd.DataFrame(rows, columns=list(_FRAMEWORK))

    def get_profiler_data_by_time(
        self,
        start_time_us: int,
        end_time_us: int,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
    ) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Samples and events between two times since the epoch, in microseconds."""
        del cache_metrics
        first, last = start_time_us - self.start_time, end_time_us - self.start_time
        system = self.get_all_system_metrics(selected_system_metrics)
        framework = self.get_all_framework_metrics(selected_framework_metrics)
        return (
            system[system.timestamp_us.between(first, last)],
            framework[(framework.start_time_us >= first) & (framework.end_time_us <= last)],
        )

    def get_profiler_data_by_step(
        self, start_step: int, end_step: int, cache_metrics: bool = False
    ) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Samples and events during a range of training steps, both ends included."""
        del cache_metrics
        framework = self.get_all_framework_metrics()
        is_of_steps = framework.step.between(start_step, end_step) & (framework.process == "train")
        framework = framework[is_of_steps]
        system = self.get_all_system_metrics()
        if not len(framework):
            return system[:0], framework
        first, last = framework.start_time_us.min(), framework.end_time_us.max()
        return system[system.timestamp_us.between(first, last)], framework

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[int], selected_framework_metrics: Sequence[str] = ()
    ) -> "pd.DataFrame":
        """Events that contain any of these times since the epoch, in microseconds."""
        pairs = [(time, time) for time in timestep_list]
        return self.get_framework_metrics_by_begin_and_end_timesteps(
            pairs, selected_framework_metrics
        )

    def get_framework_metrics_by_begin_and_end_timesteps(
        self,
        begin_end_timestep_list: Sequence[tuple[int, int]],
        selected_framework_metrics: Sequence[str] = (),
    ) -> "pd.DataFrame":
        """Events that overlap any of these ranges since the epoch, in microseconds."""
        framework = self.get_all_framework_metrics(selected_framework_metrics)
        is_in_range = pd.Series(data=False, index=framework.index)
        for begin, end in begin_end_timestep_list:
            is_in_range |= (framework.start_time_us <= end - self.start_time) & (
                framework.end_time_us >= begin - self.start_time
            )
        return framework[is_in_range]

    def get_all_dataloader_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> "pd.DataFrame":
        """Events of data loading."""
        framework = self.get_all_framework_metrics(selected_framework_metrics)
        return framework[framework.framework_metric.str.contains("data", case=False)]


def _date(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 10**6, UTC)
