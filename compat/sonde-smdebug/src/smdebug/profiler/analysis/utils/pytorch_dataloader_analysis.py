"""How long data loading takes, and its outliers."""

from typing import TYPE_CHECKING

from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.table_output import show

if TYPE_CHECKING:
    import pandas as pd

_OUTLIER = 2.0  # times the median


class PT_dataloader_analysis:
    """Durations of data loading in a job."""

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self.pd_data_frame = pandas_frame
        self._job = pandas_frame.job

    def analyze_dataloaderIter_initialization(self) -> "pd.DataFrame":
        """Data loaders: their workers, batches and settings."""
        return self._loaders()

    def analyze_dataloaderWorkers(self) -> "pd.DataFrame":
        """Data loaders: their workers, batches and settings."""
        return self._loaders()

    def analyze_dataloader_getnext(self) -> "pd.DataFrame":
        """Waits for the next batch that took at least twice the median."""
        return self._outliers("^DataIterator$")

    def analyze_batchtime(
        self, start_timestamp: int | None = None, end_timestamp: int | None = None
    ) -> "pd.DataFrame":
        """Training steps that took at least twice the median.

        Args:
            start_timestamp: Microseconds since the epoch.
            end_timestamp: Microseconds since the epoch.
        """
        return self._outliers("^Step:ModeKeys.TRAIN$", start_timestamp, end_timestamp)

    def plot_the_window(
        self, start_timestamp: int, end_timestamp: int, select_events: object = None
    ) -> object:
        """The timeline between two times since the epoch, in microseconds."""
        del select_events
        begin = self.pd_data_frame.start_time
        first, last = ((time - begin) / 10**6 for time in (start_timestamp, end_timestamp))
        return self._job.timeline(start=first, end=last).plot()

    def _loaders(self) -> "pd.DataFrame":
        frame: pd.DataFrame = self._job.dataloader().to_pandas()
        return show(frame)

    def _outliers(
        self, pattern: str, first: int | None = None, last: int | None = None
    ) -> "pd.DataFrame":
        frame = self.pd_data_frame.get_all_framework_metrics([pattern])
        begin = self.pd_data_frame.start_time
        if first is not None:
            frame = frame[frame.start_time_us >= first - begin]
        if last is not None:
            frame = frame[frame.end_time_us <= last - begin]
        frame = frame.assign(duration=frame.end_time_us - frame.start_time_us)
        return show(frame[frame.duration >= _OUTLIER * frame.duration.median()])
