"""Room for a larger batch: utilization of GPUs, their memory and the CPU."""

from sonde.analyze.resources import mean_of_devices, spread_of
from sonde.charts._chart import Chart, OverviewPlace, OverviewSection
from sonde.formats import format_percent
from sonde.read.system import SystemReader
from sonde.records.chart import Cell, Column, Spec, Table
from sonde.results.job import JobResults
from sonde.results.machines import CPU, GPU, GPU_MEMORY, device_label, readers_of, samples_of

_MAX_ROWS = 64


class BatchSize(Chart):
    """95th percentiles of GPU utilization, GPU memory and CPU utilization."""

    title = "Room for a larger batch"
    overview = OverviewPlace(OverviewSection.RESOURCES, order=5)
    section = "batch"
    rules = ("BatchSize",)
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        nodes = job.nodes
        rows = [row for reader in readers_of(job, self.node) for row in _rows(reader, nodes)]
        if not rows:
            return None
        fullest = max(rows, key=lambda row: float(row[2] or 0.0))
        return Table(
            title=self.title,
            note=(
                f"{fullest[0]} used the most memory: {format_percent(float(fullest[2] or 0))} at "
                f"p95, with a p95 utilization of {format_percent(float(fullest[1] or 0))}."
            ),
            columns=(
                Column(name="gpu", title="GPU", is_number=False),
                Column(name="gpu_p95", title="Utilization p95", unit="percent", tone="gpu"),
                Column(name="memory_p95", title="Memory p95", unit="percent", tone="memory"),
                Column(name="cpu_p95", title="Node CPU p95", unit="percent", tone="cpu"),
            ),
            rows=tuple(rows[:_MAX_ROWS]),
            total=len(rows) if len(rows) > _MAX_ROWS else None,
        )


def _rows(reader: SystemReader, nodes: tuple[str, ...]) -> list[tuple[Cell, ...]]:
    gpu, memory = samples_of(reader, GPU), samples_of(reader, GPU_MEMORY)
    cpu = samples_of(reader, CPU, is_whole=True)
    if gpu is None or memory is None:
        return []
    host = None if cpu is None else spread_of(mean_of_devices(cpu.values)).p95
    memory_by_device = dict(zip(memory.devices, memory.values, strict=True))
    return [
        (
            device_label(reader.node, device, nodes),
            spread_of(values).p95,
            spread_of(memory_by_device[device]).p95,
            host,
        )
        for device, values in zip(gpu.devices, gpu.values, strict=True)
        if device in memory_by_device
    ]
