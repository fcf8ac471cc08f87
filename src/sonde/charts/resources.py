"""Resource usage of each node: CPU, GPU, memory, I/O wait, network."""

from dataclasses import dataclass

from sonde.analyze.resources import (
    Spread,
    count_busy_devices,
    mean_of_devices,
    spread_of,
    sum_of_devices,
)
from sonde.charts._chart import Chart
from sonde.formats import pluralize
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
    RECEIVED,
    SENT,
    readers_of,
    samples_of,
)

_MAX_NODES = 32
_MAX_NOTES = 3
# fields of `Spread` and the titles of their columns
_STATISTICS = (
    *(("minimum", "min"), ("p50", "p50"), ("p90", "p90")),
    *(("p95", "p95"), ("p99", "p99"), ("maximum", "max")),
)


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


class Resources(Chart):
    """Percentiles of the resource usage of each node."""

    title = "Resource utilization"
    pages = ("overview",)
    section = "system"
    order = 1
    headline = 5
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        readers = readers_of(job, self.node)
        shown = most_unusual_nodes(readers, _MAX_NODES)
        rows: list[tuple[Cell, ...]] = []
        notes = []
        for reader in shown:
            rows += _rows(reader)
            notes += _idle_gpus(reader)
        if not rows:
            return None
        is_truncated = len(shown) < len(readers)
        return Table(
            title=self.title,
            note=_note(notes),
            coarsened=f"Only the {len(shown)} most unusual of {len(readers):,} nodes are shown."
            if is_truncated
            else "",
            columns=(
                Column(name="node", title="Node", is_number=False),
                Column(name="metric", title="Metric", is_number=False),
                Column(name="unit", title="Unit", is_number=False),
                *(Column(name=name, title=title, unit="row") for name, title in _STATISTICS),
                Column(name="samples", title="Samples"),
            ),
            rows=tuple(rows),
        )


def _rows(reader: SystemReader) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for resource in _RESOURCES:
        usage = _spread(reader, resource)
        if usage is not None:
            unit, spread = usage
            numbers = (getattr(spread, name) for name, _title in _STATISTICS)
            rows.append((reader.node, resource.title, unit, *numbers, spread.count))
    return rows


def _spread(reader: SystemReader, resource: _Resource) -> tuple[str, Spread] | None:
    samples = samples_of(reader, resource.metric, is_whole=resource.of == "node")
    if samples is None or not len(samples.times_ns):
        return None
    combine = sum_of_devices if resource.of == "sum" else mean_of_devices
    return samples.unit, spread_of(combine(samples.values))


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
    return [f"{busy} of {total} GPUs of {reader.node} were used."]
