"""Distribution of the durations of data loading operations."""

import numpy as np

from sonde.analyze.durations import durations_of, shared_histogram
from sonde.analyze.percentiles import percentiles
from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_duration, pluralize
from sonde.records.arrays import FloatArray
from sonde.records.chart import BarSeries, Column, Group, Histogram, Spec, Table
from sonde.records.loading import SINGLE_ITEMS, Operation
from sonde.results.job import JobResults

_BINS = 40
_MIN_BATCHES = 5  # fewer have no meaningful percentiles
_OPERATIONS = (
    Operation.BATCH,
    Operation.ITEM,
    Operation.COLLATION,
    Operation.WAIT,
    Operation.PINNING,
    Operation.TRANSFER,
    Operation.START,
)
_IN_HISTOGRAM = (Operation.BATCH, Operation.WAIT)


class LoadingTimes(Chart):
    """Durations of data loading operations: distribution, p25, median, p95."""

    title = "Data loading times"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=10, size=ChartSize.WIDE)
    section = "loading"
    order = 3
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        seconds: dict[str, list[float]] = {}
        for report in job.dataloader(worker=self.worker).reports:
            for operation, durations in report.record.seconds.items():
                seconds.setdefault(operation, []).extend(durations)
        timed = {each.value: np.array(seconds[each]) for each in _OPERATIONS if seconds.get(each)}
        if not timed:
            return None
        table = Table(
            title="Time per batch by operation",
            columns=(
                Column(name="operation", title="Operation", is_number=False),
                Column(name="count", title="Count"),
                *(
                    Column(name=name, title=title, unit="seconds")
                    for name, title in (("p25", "p25"), ("p50", "Median"), ("p95", "p95"))
                ),
                Column(name="maximum", title="Max", unit="seconds"),
                Column(name="total", title="Total", unit="seconds"),
            ),
            rows=tuple(
                (
                    name,
                    len(durations),
                    *_quartiles(durations),
                    float(durations.max()),
                    _total(name, durations),
                )
                for name, durations in timed.items()
            ),
        )
        drawn = {name: timed[name] for name in _IN_HISTOGRAM if name in timed}
        specs = (_histogram(drawn), table) if drawn else (table,)
        return Group(title=self.title, note=_sentence(drawn), parts=specs)


def _histogram(drawn: dict[Operation, FloatArray]) -> Histogram:
    highest = max(durations_of(durations).p99 for durations in drawn.values()) * 1.5
    edges, counts = shared_histogram(list(drawn.values()), _BINS, highest)
    beyond = sum(int((durations > highest).sum()) for durations in drawn.values())
    return Histogram(
        title="Distribution of loading times",
        note=f"The last bar includes {beyond:,} longer than {format_duration(highest)}."
        if beyond
        else "",
        edges=tuple(edges.tolist()),
        parts=tuple(
            BarSeries(
                label="wait for a batch" if name is Operation.WAIT else "load a batch",
                values=tuple(row.tolist()),
                tone="data_wait" if name is Operation.WAIT else "cpu",
            )
            for name, row in zip(drawn, counts, strict=True)
        ),
        unit="seconds",
        counted="batches",
    )


def _total(operation: str, seconds: FloatArray) -> float | None:
    return None if operation in SINGLE_ITEMS else float(seconds.sum())


def _quartiles(seconds: FloatArray) -> tuple[float, ...]:
    [values] = percentiles(seconds[None, :], (25, 50, 95))
    return tuple(values.tolist())


def _sentence(drawn: dict[Operation, FloatArray]) -> str:
    durations = drawn.get(Operation.BATCH)
    if durations is None:
        return ""
    p25, p50, p95 = map(format_duration, _quartiles(durations))
    profiled = pluralize(len(durations), "profiled batch", "profiled batches")
    if len(durations) < _MIN_BATCHES:
        return f"Median time to load a batch: {p50}, in {profiled}."
    return f"Median time to load a batch: {p50} (p25 {p25}, p95 {p95}), in {profiled}."
