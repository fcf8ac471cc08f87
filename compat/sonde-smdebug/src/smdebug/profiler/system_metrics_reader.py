"""Readers of machine metrics."""

from collections.abc import Sequence

from smdebug.profiler.events import ProfilerSystemEvent, matches, system_events
from smdebug.profiler.utils import TimeUnits, open_job, start_microseconds, to_microseconds


class SystemMetricsReader:
    """Reads the samples of all machines of a job."""

    def __init__(self, path: str) -> None:
        self.job = open_job(path)

    def refresh_event_file_list(self) -> None:
        """Read what was added."""
        self.job.refresh()

    def get_timestamp_of_first_available_file(self) -> int:
        """When the job began, in microseconds since the epoch."""
        return start_microseconds(self.job)

    def get_timestamp_of_latest_available_file(self) -> int:
        """The last sample, in microseconds since the epoch; 0 without samples."""
        return max((round(each.timestamp * 10**6) for each in system_events(self.job)), default=0)

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | Sequence[str] | None = None,
        file_suffix_filter: object = None,
    ) -> list[ProfilerSystemEvent]:
        """The samples between two times.

        Args:
            start_time: Since the epoch.
            end_time: Since the epoch; included.
            unit: The unit of both times.
            event_type: Only these types, such as `cpu`.
            file_suffix_filter: Has no effect.
        """
        del file_suffix_filter
        first, last = to_microseconds(start_time, unit), to_microseconds(end_time, unit)
        types = [event_type] if isinstance(event_type, str) else list(event_type or ())
        return [
            each
            for each in system_events(self.job)
            if first <= each.timestamp * 10**6 <= last and matches(types, each.type)
        ]


class LocalSystemMetricsReader(SystemMetricsReader):
    """Reads from a folder."""

    def __init__(self, trace_root_folder: str, use_in_memory_cache: bool = False) -> None:
        del use_in_memory_cache
        super().__init__(trace_root_folder)


class S3SystemMetricsReader(SystemMetricsReader):
    """Reads from an object store."""

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        del use_in_memory_cache
        super().__init__(s3_trial_path)
