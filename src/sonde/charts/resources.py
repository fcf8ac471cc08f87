"""Resource usage of each node: CPU, GPU, memory, I/O wait, network."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sonde.analyze.resources import (
    BUSY_GPU_PERCENT,
    Spread,
    count_busy_devices,
    mean_of_devices,
    spread_of,
    sum_of_devices,
)
from sonde.charts._chart import Chart, ChartSize, OverviewPlace, OverviewSection
from sonde.formats import format_percent, pluralize
from sonde.read.system import SystemReader
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.results.busy_nodes import most_unusual_nodes
from sonde.results.job import JobResults
from sonde.results.machines import (
    CPU,
    CPU_MEMORY,
    GPU,
    GPU_MEMORY,
    IO_WAIT,
    JOB_CPU,
    RECEIVED,
    SENT,
    readers_of,
    samples_of,
    series_of,
)

_MAX_NODES = 32
_MAX_NOTES = 3


@dataclass(frozen=True)
class _Resource:
    title: str
    metric: str
    of: str  # `node`: a series of the whole node; `mean`, `sum`: over its devices


_RESOURCES = (
    _Resource("Total CPU", CPU, "node"),
    _Resource("Total GPU", GPU, "mean"),
    _Resource("CPU memory", CPU_MEMORY, "node"),
    _Resource("GPU memory", GPU_MEMORY, "mean"),
    _Resource("I/O wait", IO_WAIT, "node"),
    _Resource("Network in", RECEIVED, "sum"),
    _Resource("Network out", SENT, "sum"),
)


@dataclass(frozen=True)
class _Usage:
    """One row: the usage of a resource of a node."""

    node: str
    metric: str
    unit: str
    spread: Spread


# each column with its cell in a row
_COLUMNS: tuple[tuple[Column, Callable[[_Usage], Cell]], ...] = (
    (Column(name="node", title="Node", is_number=False), lambda usage: usage.node),
    (Column(name="metric", title="Metric", is_number=False), lambda usage: usage.metric),
    (Column(name="unit", title="Unit", is_number=False), lambda usage: usage.unit),
    (Column(name="minimum", title="min", unit="row"), lambda usage: usage.spread.minimum),
    (Column(name="p50", title="p50", unit="row"), lambda usage: usage.spread.p50),
    (Column(name="p90", title="p90", unit="row"), lambda usage: usage.spread.p90),
    (Column(name="p95", title="p95", unit="row"), lambda usage: usage.spread.p95),
    (Column(name="p99", title="p99", unit="row"), lambda usage: usage.spread.p99),
    (Column(name="maximum", title="max", unit="row"), lambda usage: usage.spread.maximum),
    (Column(name="samples", title="Samples"), lambda usage: usage.spread.count),
)


class Resources(Chart):
    """Percentiles of the resource usage of each node."""

    title = "Resource utilization"
    overview = OverviewPlace(
        OverviewSection.RESOURCES, order=1, size=ChartSize.WIDE, empty="No system samples recorded."
    )
    section = "system"
    order = 1
    headline = 6
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        readers = readers_of(job, self.node)
        shown = most_unusual_nodes(readers, _MAX_NODES)
        usages = [usage for reader in shown for usage in _usages(reader)]
        notes = [note for reader in shown for note in _idle_gpus(reader)]
        if not usages:
            return None
        is_truncated = len(shown) < len(readers)
        return Table(
            title=self.title,
            note=_note(notes),
            coarsened=f"Only the {len(shown)} most unusual of {len(readers):,} nodes are shown."
            if is_truncated
            else "",
            columns=tuple(column for column, _ in _COLUMNS),
            rows=tuple(tuple(cell(usage) for _, cell in _COLUMNS) for usage in usages),
        )


def _job_usage(reader: SystemReader) -> Iterator[_Usage]:
    """The CPU time of the job's processes, in percent of all cores of the node."""
    cores = len(series_of(reader, CPU))
    samples = samples_of(reader, JOB_CPU, is_whole=True)
    if samples is not None and len(samples.times_ns) and cores:
        yield _Usage(reader.node, "Job CPU", "percent", spread_of(samples.values[0] / cores))


def _usages(reader: SystemReader) -> Iterator[_Usage]:
    for resource in _RESOURCES:
        samples = samples_of(reader, resource.metric, is_whole=resource.of == "node")
        if samples is not None and len(samples.times_ns):
            combine = sum_of_devices if resource.of == "sum" else mean_of_devices
            spread = spread_of(combine(samples.values))
            yield _Usage(reader.node, resource.title, samples.unit, spread)
        if resource.metric == CPU:
            yield from _job_usage(reader)


def _note(notes: list[str]) -> str:
    remaining = len(notes) - _MAX_NOTES
    more = [f"The same applies to {pluralize(remaining, 'more node')}."] if remaining > 0 else []
    return " ".join([*notes[:_MAX_NOTES], *more])


def _idle_gpus(reader: SystemReader) -> list[str]:
    samples = samples_of(reader, GPU)
    if samples is None or not len(samples.times_ns):
        return []
    busy, total = count_busy_devices(samples.values), len(samples.devices)
    if busy == total:
        return []
    limit = format_percent(BUSY_GPU_PERCENT)
    return [f"{busy} of {total} GPUs of {reader.node} had a mean utilization of {limit} or more."]
