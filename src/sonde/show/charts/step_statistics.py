"""How long steps took, worker by worker."""

from sonde.analyze.durations import durations_of, longest_usual
from sonde.clock import NANOSECONDS
from sonde.records.step import Mode
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.specs import Cell, Column, Spec, Table
from sonde.show.units import short_time

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

    def build(self, job: JobView) -> Spec | None:
        rows: list[tuple[Cell, ...]] = []
        limits: dict[tuple[Cell, ...], float] = {}
        for table in job.steps(None, worker=self.worker).tables:
            seconds = table.durations_ns[table.is_usual] / NANOSECONDS
            if len(seconds):
                found = durations_of(seconds)
                limit = longest_usual(seconds)
                numbers = (getattr(found, name) for name in _NUMBERS)
                long = int((seconds > limit).sum())
                rows.append((table.worker, table.mode, found.count, *numbers, long))
                limits[rows[-1]] = limit
        if not rows:
            return None
        rows.sort(key=lambda row: (row[1] != Mode.TRAIN.value, str(row[1]), -float(row[3] or 0.0)))
        is_cut = len(rows) > _MOST
        return Table(
            title=self.title,
            note=_sentence(rows, limits[rows[0]]),
            coarsened=f"The {_MOST} slowest of {len(rows):,}." if is_cut else "",
            columns=(
                Column(name="worker", title="Worker"),
                Column(name="mode", title="Mode", is_number=False),
                Column(name="steps", title="Steps"),
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
    steps, mean, median, long = (float(first[place] or 0) for place in (2, 3, 7, 10))
    said = f"A {first[1]} step took {short_time(mean)} on average"
    if workers > 1:
        said += f" (worker {first[0]}, the slowest of {workers:,})"
    if steps < _FEW:
        return f"{said}."
    if not long:
        return f"{said}; none of {steps:,.0f} took longer than {short_time(limit)}."
    usual = f"the median is {short_time(median)}"
    return f"{said}; {long:,.0f} of {steps:,.0f} took longer than {short_time(limit)}, {usual}."
