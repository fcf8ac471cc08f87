"""Advice on data loading."""

from sonde.charts._chart import Chart
from sonde.records.chart import Spec, Text
from sonde.results.job import JobResults


class LoadingAdvice(Chart):
    """Advice on data loading."""

    title = "Data loading advice"
    section = "loading"
    order = 1
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        loaders = job.dataloader(worker=self.worker)
        advice = tuple(dict.fromkeys(loaders.advice)) if len(loaders) else ()
        return Text(title=self.title, note=advice[0], paragraphs=advice[1:]) if advice else None
