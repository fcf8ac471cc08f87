"""Histograms of machine metrics."""

from collections.abc import Sequence

from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    Reader,
    selected_metrics,
    system_metrics,
)


class MetricsHistogram:
    """Draws the distribution of the values of each metric."""

    def __init__(self, metrics_reader: Reader) -> None:
        self.reader = metrics_reader

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = (".*",),
        select_events: Sequence[str] = (".*",),
        show_workers: bool = True,
    ) -> Chart:
        """Draw histograms.

        Args:
            starttime: Microseconds since the epoch; 0 for the start of the job.
            endtime: Microseconds since the epoch; by default, the end of the job.
            select_dimensions: Such as `GPU`.
            select_events: Such as `gpu`, or `total`.
            show_workers: Has no effect.
        """
        del show_workers
        metrics = [
            system_metrics(self.reader, metric, starttime, endtime)
            for metric in selected_metrics(select_dimensions, select_events)
        ]
        return Chart([each.histogram().plot() for each in metrics if each.series])
