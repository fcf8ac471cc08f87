"""A chart file that exists only during a test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sonde.charts

NAME = "steps_by_mode"
_SOURCE = '''
from sonde.charts import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.records.chart import Column, Spec, Table
from sonde.results.job import JobResults


class StepsByMode(Chart):
    """The number of steps by mode."""

    title = "Steps by mode"
    overview = OverviewPlace(OverviewSection.TRAINING, order=2, size=ChartSize.WIDE)

    def build(self, job: JobResults) -> Spec | None:
        columns = (Column(name="mode", title="Mode"), Column(name="steps", title="Steps"))
        return Table(title=self.title, columns=columns, rows=tuple(job.summary["steps"].items()))
'''


@contextmanager
def added_chart(folder: Path, source: str = _SOURCE) -> Iterator[None]:
    """Add a file to the folders that charts are loaded from."""
    (folder / f"{NAME}.py").write_text(source, encoding="utf-8")
    folders = sonde.charts.__path__
    folders.append(str(folder))
    try:
        yield
    finally:
        folders.remove(str(folder))
        sys.modules.pop(f"{sonde.charts.__name__}.{NAME}", None)
