"""How long steps took, worker by worker."""

from sonde.analyze.durations import durations_of
from sonde.analyze.outliers import outlier_limit
from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.step import Mode
from sonde.results.job import JobResults

_MOST = 64  # workers; the slowest
_FEW = 10  # steps, of which none is unusual
_NUMBERS = ("mean", "maximum", "p99", "p95", "p50", "minimum", "deviation")
_TITLES = ("Mean", "Max", "p99", "p95", "p50", "Min", "Std. deviation")


class StepStatistics(Chart):
    """How long steps took: statistics per worker and mode."""

    title = "Step durations"
    pages = ("overview",)
    section = "steps"
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        rows: list[tuple[Cell, ...]] = []
        limits: dict[tuple[Cell, ...], float] = {}
        for table in job.steps(None, worker=self.worker).tables:
            seconds = table.durations_ns[table.is_usual] / NANOSECONDS
            if len(seconds):
                found = durations_of(seconds)
                limit = outlier_limit(seconds)
                numbers = (getattr(found, name) for name in _NUMBERS)
                long = int((seconds > limit).sum())
                counts = (len(table.steps), len(table.steps) - found.count)
                rows.append((table.worker, table.mode, *counts, *numbers, long))
                limits[rows[-1]] = limit
        if not rows:
            return None
        rows.sort(key=lambda row: (row[1] != Mode.TRAIN.value, str(row[1]), -float(row[4] or 0.0)))
        is_cut = len(rows) > _MOST
        return Table(
            title=self.title,
            note=_sentence(rows, limits[rows[0]]),
            coarsened=f"The {_MOST} slowest of {len(rows):,}." if is_cut else "",
            columns=(
                Column(name="worker", title="Worker"),
                Column(name="mode", title="Mode", is_number=False),
                Column(name="steps", title="Steps"),
                Column(name="profiled", title="Profiled, not timed"),
                *(
                    Column(name=name, title=title, unit="seconds")
                    for name, title in zip(_NUMBERS, _TITLES, strict=True)
                ),
                Column(name="outliers", title="Outliers"),
            ),
            rows=tuple(rows[:_MOST]),
            total=len(rows) if is_cut else None,
        )


def _sentence(rows: list[tuple[Cell, ...]], limit: float) -> str:
    first = rows[0]
    workers = sum(row[1] == first[1] for row in rows)
    numbers = (float(first[place] or 0) for place in (2, 3, 4, 8, 11))
    steps, profiled, mean, median, long = numbers
    said = f"A {first[1]} step took {format_duration(mean)} on average"
    if workers > 1:
        said += f" (worker {first[0]}, the slowest of {workers:,})"
    if steps - profiled < _FEW:
        return f"{said}."
    whole = f"{steps:,.0f} steps"
    whole += f" ({profiled:,.0f} profiled ones left out)" if profiled else ""
    if not long:
        return f"{said}; none of {whole} took longer than {format_duration(limit)}."
    usual = f"the median is {format_duration(median)}"
    return f"{said}; {long:,.0f} of {whole} took longer than {format_duration(limit)}, {usual}."
