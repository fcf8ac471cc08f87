"""Events and system metrics as one Chrome trace."""

from enum import Enum
from pathlib import Path

from smdebug.profiler.utils import open_job


class MergeUnit(Enum):
    """The unit of the range to merge."""

    TIME = "time"
    STEP = "step"


class MergedTimeline:
    """Writes a Chrome trace with the events of workers and the metrics of machines."""

    def __init__(
        self,
        path: str,
        file_suffix_filter: object = None,
        output_directory: str | None = None,
    ) -> None:
        del file_suffix_filter
        self.job = open_job(path)
        self._folder = Path(output_directory or path)

    def merge_timeline(
        self,
        start: float | None = None,
        end: float | None = None,
        unit: MergeUnit = MergeUnit.TIME,
        sys_metrics_filter: object = None,
    ) -> str:
        """Write the trace, and return the path of its file.

        Args:
            start: A training step, or microseconds since the epoch.
            end: The last step, which is included, or a time.
            unit: The unit of both.
            sys_metrics_filter: Has no effect: the trace has all metrics.
        """
        del sys_metrics_filter
        if unit == MergeUnit.STEP:
            first = None if start is None else int(start)
            timeline = self.job.timeline(
                start_step=first, end_step=None if end is None else int(end) + 1
            )
        else:
            begin_ns = self.job.facts.start_ns or 0
            timeline = self.job.timeline(
                start=None if start is None else start / 1e6 - begin_ns / 1e9,
                end=None if end is None else end / 1e6 - begin_ns / 1e9,
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        return str(timeline.save(self._folder / "merged_timeline.json"))
