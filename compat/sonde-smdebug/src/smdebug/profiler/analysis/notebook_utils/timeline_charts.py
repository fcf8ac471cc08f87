"""Metrics of machines over time, and the events of workers at an instant."""

from collections.abc import Sequence

from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    Reader,
    selected_metrics,
    system_metrics,
)


class TimelineCharts(Chart):
    """Draws metrics of machines over time."""

    def __init__(
        self,
        system_metrics_reader: Reader,
        framework_metrics_reader: Reader | None = None,
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = (".*",),
        select_events: Sequence[str] = (".*",),
        x: int = 1000,
        show_workers: bool = True,
    ) -> None:
        del framework_metrics_reader, x, show_workers
        self.job = system_metrics_reader.job
        metrics = [
            system_metrics(system_metrics_reader, metric, starttime, endtime)
            for metric in selected_metrics(select_dimensions, select_events)
        ]
        super().__init__([each.plot() for each in metrics if each.series])

    def plot_framework_events(
        self, events: object = None, begin_timestamp: float = 0, end_timestamp: float | None = None
    ) -> Chart:
        """Draw the events of workers between two times since the epoch, in microseconds."""
        del events
        begin = (self.job.facts.start_ns or 0) / 1e9
        first = begin_timestamp / 1e6 - begin if begin_timestamp else None
        last = end_timestamp / 1e6 - begin if end_timestamp else None
        return Chart([self.job.timeline(start=first, end=last).plot()])

    def plot_dataloaders(
        self, begin_timestamp: float = 0, end_timestamp: float | None = None
    ) -> Chart:
        """Draw data loading between two times since the epoch, in microseconds."""
        return self.plot_framework_events(None, begin_timestamp, end_timestamp)

    def plot_detailed_profiler_data(self, steps: Sequence[int]) -> Chart:
        """Draw the profiled events of a range of training steps, both ends included."""
        first, last = min(steps), max(steps)
        return Chart([self.job.timeline(start_step=first, end_step=last + 1).plot()])

    def update_data(self, current_timestamp: float | None = None) -> None:
        """Read what was added."""
        del current_timestamp
        self.job.refresh()
