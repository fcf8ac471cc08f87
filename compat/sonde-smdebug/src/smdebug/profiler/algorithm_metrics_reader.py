"""Readers of steps, phases and other events of workers."""

from collections.abc import Sequence

from smdebug.profiler.events import TraceEvent, matches, trace_events
from smdebug.profiler.utils import TimeUnits, open_job, start_microseconds, to_microseconds


class AlgorithmMetricsReader:
    """Reads the events of all workers of a job."""

    def __init__(self, path: str) -> None:
        self.job = open_job(path)

    def refresh_event_file_list(self) -> None:
        """Read what was added."""
        self.job.refresh()

    def get_timestamp_of_first_available_file(self) -> int:
        """When the job began, in microseconds since the epoch."""
        return start_microseconds(self.job)

    def get_timestamp_of_latest_available_file(self) -> int:
        """The end of the last event, in microseconds since the epoch; 0 without events."""
        return max((each.end_time for each in trace_events(self.job)), default=0)

    def get_current_time_range_for_event_query(self) -> tuple[int, int]:
        """When the job began, and the end of the last event."""
        first = self.get_timestamp_of_first_available_file()
        return first, self.get_timestamp_of_latest_available_file()

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | Sequence[str] | None = None,
        file_suffix_filter: object = None,
    ) -> list[TraceEvent]:
        """The events that begin and end between two times.

        Args:
            start_time: Since the epoch.
            end_time: Since the epoch; included.
            unit: The unit of both times.
            event_type: Only names that match, such as `Forward`.
            file_suffix_filter: Has no effect.
        """
        del file_suffix_filter
        first, last = to_microseconds(start_time, unit), to_microseconds(end_time, unit)
        names = [event_type] if isinstance(event_type, str) else list(event_type or ())
        return [
            each
            for each in trace_events(self.job)
            if first <= each.start_time and each.end_time <= last
            if matches(names, each.event_name)
        ]

    def get_events_by_step(self, start_step: int, end_step: int) -> list[TraceEvent]:
        """The events of a range of training steps, both ends included."""
        return [
            each
            for each in trace_events(self.job)
            if each.event_args["mode"] == "train"
            and start_step <= int(each.event_args["step_num"]) <= end_step
        ]


class LocalAlgorithmMetricsReader(AlgorithmMetricsReader):
    """Reads from a folder."""

    def __init__(self, trace_root_folder: str, use_in_memory_cache: bool = False) -> None:
        del use_in_memory_cache
        super().__init__(trace_root_folder)


class S3AlgorithmMetricsReader(AlgorithmMetricsReader):
    """Reads from an object store."""

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        del use_in_memory_cache
        super().__init__(s3_trial_path)
