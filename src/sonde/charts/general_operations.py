"""Time spent in named ranges of the script and in profiler windows."""

from sonde.charts._chart import Chart
from sonde.records.arrays import FloatArray
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.step import EventCategory
from sonde.results.job import JobResults
from sonde.store.tables import texts_of, to_numpy

_SHOWN = 20
_CATEGORIES = {EventCategory.USER: "", EventCategory.WINDOW: "profiler: "}


class GeneralOperations(Chart):
    """Time by named range of the script and by profiler window."""

    title = "General framework operations"
    section = "framework"
    order = 6
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        tables = {
            prefix: job.events(category=category.value, worker=self.worker).to_arrow()
            for category, prefix in _CATEGORIES.items()
        }
        rows: list[tuple[Cell, ...]] = []
        for prefix, table in tables.items() if job.workers else ():
            names, which = texts_of(table["name"].dictionary_encode())
            seconds = to_numpy(table["seconds"])
            for number, name in enumerate(names):
                durations = seconds[which == number]
                if len(durations):
                    rows.append((f"{prefix}{name}", *_numbers(durations)))
        rows.sort(key=lambda row: -float(row[1] or 0.0))
        if not rows:
            return None
        return Table(
            title=self.title,
            columns=(
                Column(name="name", title="Operation", is_number=False),
                Column(name="total", title="Total", unit="seconds"),
                Column(name="count", title="Count"),
                Column(name="mean", title="Mean", unit="seconds"),
                Column(name="maximum", title="Max", unit="seconds"),
            ),
            rows=tuple(rows[:_SHOWN]),
            total=len(rows),
        )


def _numbers(seconds: FloatArray) -> tuple[Cell, ...]:
    return float(seconds.sum()), len(seconds), float(seconds.mean()), float(seconds.max())
