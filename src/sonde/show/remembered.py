"""A job that answers every question once: many charts ask the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.show.job_view import JobView
from sonde.store.manifest import Extent
from sonde.store.rollups import Floats, Instants, Rollup


class _RememberedReader(SystemReader):
    """Stands in for the reader of a node: all samples of a metric are read once."""

    def __init__(self, reader: SystemReader) -> None:
        self.node = reader.node
        self._of = reader
        self._known: dict[tuple[str, ...], tuple[Instants, Floats]] = {}

    @property
    def extent(self) -> Extent | None:
        return self._of.extent

    def series(self, metric: str = "*", device: str | None = None) -> tuple[Series, ...]:
        return self._of.series(metric, device)

    def samples(
        self, series: Sequence[Series], within: TimeRange = EVER
    ) -> tuple[Instants, Floats]:
        if within != EVER:
            return self._of.samples(series, within)
        keys = tuple(one.key for one in series)
        if keys not in self._known:
            self._known[keys] = self._of.samples(series)
        return self._known[keys]

    def buckets(self, series: Sequence[Series], most: int, within: TimeRange = EVER) -> Rollup:
        return self._of.buckets(series, most, within)


class _Remembered:
    """Stands in for a job; what it answered stays as it was."""

    def __init__(self, job: JobView, **answers: Callable[..., Any]) -> None:
        self._job = job
        self._reader = cache(_RememberedReader)
        answers = {"system": self._system, **answers}
        vars(self).update({name: cache(answer) for name, answer in answers.items()})

    def _system(self, *asked: str, **more: Any) -> Any:
        view: Any = self._job.system(*asked, **more)
        return replace(view, readers=tuple(map(self._reader, view.readers)))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._job, name)
        answer = cache(found) if callable(found) else found
        vars(self)[name] = answer
        return answer


def remembered(job: JobView, **answers: Callable[..., Any]) -> JobView:
    """The job, as it stands now; some methods may be answered otherwise."""
    return cast("JobView", _Remembered(job, **answers))
