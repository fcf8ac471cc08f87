"""Settings and cost of each data loader."""

from sonde.analyze.loading import LoaderReport
from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_percent, pluralize
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.records.loading import Operation
from sonde.results.job import JobResults

_MAX_ROWS = 32
_COLUMNS = (
    Column(name="worker", title="Worker"),
    Column(name="mode", title="Mode", is_number=False),
    Column(name="dataset", title="Data set", is_number=False),
    Column(name="processes", title="Loader processes"),
    Column(name="cores", title="Cores"),
    Column(name="processes_advised", title="Recommended processes"),
    Column(name="limited_by", title="Limited by", is_number=False),
    Column(name="pinned", title="Pinned memory", is_number=False),
    Column(name="batch_size", title="Batch size", unit="samples"),
    Column(name="waited", title="Data wait", unit="percent", tone="data_wait"),
    Column(name="wait_p50", title="Median wait", unit="seconds"),
)


class Loaders(Chart):
    """Loader processes and CPU cores, pinned memory, and how long steps wait for data."""

    title = "Data loaders"
    overview = OverviewPlace(OverviewSection.OPERATIONS, order=9, size=ChartSize.WIDE)
    section = "loading"
    order = 2
    headline = 7
    rules = ("Dataloader", "DataLoaderStall", "DataLoaderStarvation")
    takes_worker = True

    def build(self, job: JobResults) -> Spec | None:
        reports = job.dataloader(worker=self.worker).reports
        rows = [_row(report) for report in reports[:_MAX_ROWS]]
        if not rows:
            return None
        total = len(reports) if len(reports) > _MAX_ROWS else None
        note = _sentence(rows)
        return Table(title=self.title, note=note, columns=_COLUMNS, rows=tuple(rows), total=total)


def _row(report: LoaderReport) -> tuple[Cell, ...]:
    record, facts, answer = report.record, report.record.facts, report.processes
    wait = report.seconds(Operation.WAIT)
    return (
        record.worker,
        record.mode,
        facts.dataset,
        facts.processes,
        report.loading.cores,
        None if answer is None else answer.advised,
        "" if answer is None else answer.limit.value,
        "yes" if facts.is_pinning else "no",
        facts.batch_size,
        record.waited_percent,
        None if wait is None else wait.p50,
    )


def _sentence(rows: list[tuple[Cell, ...]]) -> str:
    first = rows[0]
    processes, cores = int(first[3] or 0), int(first[4] or 1)
    if processes:
        loaders = pluralize(processes, "loader process", "loader processes")
        sentence = f"{loaders} on {pluralize(cores, 'CPU core')}"
    else:
        sentence = f"Batches were loaded in the main process ({pluralize(cores, 'CPU core')})"
    wait_percent = first[9]
    if not isinstance(wait_percent, float):
        return f"{sentence}."
    return f"{sentence}. Data wait: {format_percent(wait_percent)} of step time."
