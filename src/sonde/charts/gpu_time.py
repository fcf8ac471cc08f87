"""Utilization of the GPUs of a node over time."""

import numpy as np

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.records.chart import Curve, LineChart, Spec
from sonde.results.job import JobResults
from sonde.results.machines import GPU, readers_by_relevance, series_of
from sonde.store.rollups import Floats

_BUCKETS = 300
_MAX_CURVES = 8  # GPUs with a curve of their own; more are one curve with a band


class GpuTime(Chart):
    """Utilization of each GPU of a node over time; by default, of the node with findings."""

    title = "GPU utilization over time"
    section = "gpu"
    order = 1
    rules = ("LowGPUUtilization", "IdleGPU", "GPUThrottling")
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        start_ns = job.facts.start_ns or 0
        for reader in readers_by_relevance(job, self.node):
            series = series_of(reader, GPU)
            rollup = reader.buckets(series, _BUCKETS) if series else None
            if rollup is None or not len(rollup.starts_ns):
                continue
            middles = (rollup.starts_ns - start_ns + rollup.width_ns / 2) / NANOSECONDS
            devices = [each.device for each in series]
            return LineChart(
                title=self.title if len(job.nodes) == 1 else f"{self.title} on {reader.node}",
                note=f"Mean of {format_duration(rollup.width_ns / NANOSECONDS)} per point.",
                x=tuple(middles.tolist()),
                x_title="Time since start",
                x_unit="seconds",
                unit="percent",
                curves=_curves(devices, rollup.mean),
                low=0.0,
                high=100.0,
            )
        return None


def _curves(devices: list[str], values: Floats) -> tuple[Curve, ...]:
    rounded = np.round(values, 1)
    if len(devices) <= _MAX_CURVES:
        return tuple(
            Curve(label=device, values=tuple(row.tolist()))
            for device, row in zip(devices, rounded, strict=True)
        )
    with np.errstate(all="ignore"):
        mean, low, high = (
            tuple(reduce(rounded, axis=0).tolist()) for reduce in (np.mean, np.min, np.max)
        )
    label = f"mean of {pluralize(len(devices), 'GPU')}"
    return (Curve(label=label, values=mean, low=low, high=high, tone="gpu"),)
