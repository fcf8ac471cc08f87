"""Samples of system metrics by device, for charts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.natural_sort import natural_sort_key
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.results.job import JobResults
from sonde.store.rollups import Floats, Instants

CPU = "cpu.utilization_percent"
JOB_CPU = "process_tree.cpu_percent"  # of one core
GPU = "gpu.utilization_percent"
CPU_MEMORY = "memory.used_percent"
GPU_MEMORY = "gpu.memory_used_percent"
IO_WAIT = "cpu.iowait_percent"
RECEIVED = "network.receive_bytes_per_second"
SENT = "network.transmit_bytes_per_second"

_BUCKETS = 64


@dataclass(frozen=True)
class Samples:
    """Samples of a metric of a node: values as (device, tick)."""

    node: str
    devices: tuple[str, ...]
    unit: str
    times_ns: Instants
    values: Floats


def readers_of(job: JobResults, node: str | None = None) -> tuple[SystemReader, ...]:
    """Readers of all nodes, or of a single one."""
    return job.system(node=node).readers


def readers_by_relevance(job: JobResults, node: str | None = None) -> list[SystemReader]:
    """Readers of all nodes, those with the most important findings first, or of a single one.

    For charts with room for one node: it should be the one that the findings are about.
    """
    named = [episode.finding.node for episode in job.judgement().findings]
    return sorted(
        readers_of(job, node),
        key=lambda reader: named.index(reader.node) if reader.node in named else len(named),
    )


def series_of(reader: SystemReader, metric: str, *, is_whole: bool = False) -> tuple[Series, ...]:
    """The series of a metric's devices in order, or the series of the whole node."""
    series = [each for each in reader.series(metric) if bool(each.device) is not is_whole]
    return tuple(sorted(series, key=lambda each: natural_sort_key(each.device)))


def main_series(reader: SystemReader, metric: str) -> tuple[Series, ...]:
    """The series of the whole node if it was recorded, else those of its devices."""
    return series_of(reader, metric, is_whole=True) or series_of(reader, metric)


def samples_of(
    reader: SystemReader, metric: str, *, is_whole: bool = False, within: TimeRange = EVER
) -> Samples | None:
    """All samples of a metric; None if it was not recorded."""
    series = series_of(reader, metric, is_whole=is_whole)
    if not series:
        return None
    times_ns, values = reader.samples(series, within)
    devices = tuple(each.device for each in series)
    return Samples(reader.node, devices, series[0].metric.unit, times_ns, values)


def means_of(reader: SystemReader, series: Sequence[Series]) -> list[float]:
    """The mean of all samples of each series."""
    if not series:
        return []
    rollup = reader.buckets(series, _BUCKETS)
    counts = rollup.count.sum(axis=1)
    weighted = np.where(rollup.count > 0, rollup.mean.astype(np.float64) * rollup.count, 0.0)
    sums = weighted.sum(axis=1)
    return [float(total / count) for total, count in zip(sums, counts, strict=True) if count]


def each_node(job: JobResults, metric: str, node: str | None = None) -> Iterator[Samples]:
    """Samples of a metric's devices, one item per node."""
    for reader in readers_of(job, node):
        samples = samples_of(reader, metric)
        if samples is not None:
            yield samples


def device_label(node: str, device: str, nodes: Sequence[str]) -> str:
    """A device's name, with its node if the job has several."""
    return device if len(nodes) == 1 else f"{node} {device}"
