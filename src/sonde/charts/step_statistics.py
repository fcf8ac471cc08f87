"""Step duration statistics per worker."""

from sonde.analyze.durations import durations_of
from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.clock import NANOSECONDS
from sonde.formats import format_count, format_duration, pluralize
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.step import Mode
from sonde.results.job import JobResults
from sonde.results.outlier_steps import outliers_of

_MAX_ROWS = 64  # the slowest workers
_MIN_STEPS = 10  # fewer have no outliers
_NUMBERS = ("mean", "maximum", "p99", "p95", "p50", "minimum", "deviation")
_TITLES = ("Mean", "Max", "p99", "p95", "p50", "Min", "Std. deviation")


class StepStatistics(Chart):
    """Step duration statistics per worker and mode."""

    title = "Step durations"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=5, size=ChartSize.WIDE)
    section = "steps"
    order = 1
    headline = 3
    rules = ("ThroughputDrop", "Straggler", "StalledTrainingRule")
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        rows: list[tuple[Cell, ...]] = []
        limits: dict[tuple[Cell, ...], float] = {}
        for table in job.steps(None, worker=self.worker).tables:
            seconds = table.durations_ns[table.is_representative] / NANOSECONDS
            if len(seconds):
                statistics = durations_of(seconds)
                outliers = outliers_of(table)
                numbers = (getattr(statistics, name) for name in _NUMBERS)
                long = int(outliers.is_outlier.sum())
                counts = (len(table.steps), len(table.steps) - statistics.count)
                rows.append((table.worker, table.mode, *counts, *numbers, long))
                limits[rows[-1]] = outliers.limit
        if not rows:
            return None
        rows.sort(key=lambda row: (row[1] != Mode.TRAIN.value, str(row[1]), -float(row[4] or 0.0)))
        is_truncated = len(rows) > _MAX_ROWS
        return Table(
            title=self.title,
            note=_sentence(rows, limits[rows[0]]),
            coarsened=f"Only the {_MAX_ROWS} slowest of {len(rows):,} are shown."
            if is_truncated
            else "",
            columns=(
                Column(name="worker", title="Worker"),
                Column(name="mode", title="Mode", is_number=False),
                Column(name="steps", title="Steps"),
                Column(name="profiled", title="Profiled (excluded)"),
                *(
                    Column(name=name, title=title, unit="seconds")
                    for name, title in zip(_NUMBERS, _TITLES, strict=True)
                ),
                Column(name="outliers", title="Outliers"),
            ),
            rows=tuple(rows[:_MAX_ROWS]),
            total=len(rows) if is_truncated else None,
        )


def _sentence(rows: list[tuple[Cell, ...]], limit: float) -> str:
    first = rows[0]
    workers = sum(row[1] == first[1] for row in rows)
    numbers = (float(first[index] or 0) for index in (2, 3, 4, 8, 11))
    steps, profiled, mean, median, long = numbers
    sentence = f"Mean {first[1]} step duration: {format_duration(mean)}"
    if workers > 1:
        sentence += f" (worker {first[0]}, the slowest of {workers:,})"
    if steps - profiled < _MIN_STEPS:
        return f"{sentence}."
    sentence += f", median {format_duration(median)}"
    counted = pluralize(round(steps), "step")
    if profiled:
        counted += f" ({pluralize(round(profiled), 'profiled step')} excluded)"
    count = format_count(long) if long else "None"
    return f"{sentence}. {count} of {counted} took longer than {format_duration(limit)}."
