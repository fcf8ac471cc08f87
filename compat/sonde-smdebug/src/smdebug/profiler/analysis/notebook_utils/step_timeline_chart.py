"""Step durations over time."""

from smdebug.profiler.analysis.notebook_utils.chart import Chart, Reader


class StepTimelineChart(Chart):
    """Draws the duration of each step."""

    def __init__(self, metrics_reader: Reader, width: int = 1000) -> None:
        del width
        super().__init__([metrics_reader.job.steps().plot()])
