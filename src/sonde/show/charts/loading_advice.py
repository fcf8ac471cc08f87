"""What to do about data loading, in words."""

from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.specs import Spec, Text


class LoadingAdvice(Chart):
    """What to know and to do about the data loaders, in words."""

    title = "What to do about data loading"
    pages = ("overview",)
    section = "loading"
    takes_worker = True

    def build(self, job: JobView) -> Spec | None:
        loaders = job.dataloader(worker=self.worker)
        advice = tuple(dict.fromkeys(loaders.advice)) if len(loaders) else ()
        return Text(title=self.title, note=advice[0], paragraphs=advice[1:]) if advice else None
