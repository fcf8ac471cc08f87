"""Histograms of step and phase durations."""

from collections.abc import Sequence

from smdebug.profiler.analysis.notebook_utils.chart import Chart, Reader
from smdebug.profiler.events import matches

_EVENTS = {
    "step": "Step:ModeKeys",
    "forward": "Forward-node",
    "backward": "Backward(post-forward)-node",
    "data_wait": "DataIterator",
}
_DEFAULT = ("Step:ModeKeys", "Forward-node", r"Backward\(post-forward\)-node")


class StepHistogram:
    """Draws the distribution of durations."""

    def __init__(self, metrics_reader: Reader, width: int = 500) -> None:
        del width
        self.reader = metrics_reader

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_metrics: Sequence[str] = _DEFAULT,
        show_workers: bool = True,
    ) -> Chart:
        """Draw histograms.

        Args:
            starttime: Microseconds since the epoch; 0 for the start of the job.
            endtime: Microseconds since the epoch; by default, the end of the job.
            select_metrics: Names of events, such as `Forward-node`.
            show_workers: Has no effect.
        """
        del show_workers
        job = self.reader.job
        begin = (job.facts.start_ns or 0) / 1e9
        first = starttime / 1e6 - begin if starttime else None
        last = endtime / 1e6 - begin if endtime else None
        events = [
            job.events(name, start=first, end=last)
            for name, old_name in _EVENTS.items()
            if matches(select_metrics, old_name)
        ]
        return Chart([each.histogram().plot() for each in events if len(each.to_arrow())])
