"""Heatmaps of utilization."""

from collections.abc import Sequence

from smdebug.profiler.analysis.notebook_utils.chart import (
    Chart,
    Reader,
    selected_metrics,
    system_metrics,
)


class Heatmap(Chart):
    """Draws the utilization of each core and GPU over time."""

    def __init__(
        self,
        metrics_reader: Reader,
        select_metrics: object = (),
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = (".*CPU", ".*GPU"),
        select_events: Sequence[str] = (".*",),
        plot_height: int = 350,
        show_workers: bool = True,
    ) -> None:
        del select_metrics, plot_height, show_workers
        metrics = [
            system_metrics(metrics_reader, metric, starttime, endtime)
            for metric in selected_metrics(select_dimensions, select_events)
        ]
        super().__init__([each.heatmap().plot() for each in metrics if each.series])
