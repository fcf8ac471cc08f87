"""Utilization of every core and GPU of a node over time."""

import numpy as np

from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.records.chart import Heatmap, Spec
from sonde.results.job import JobResults
from sonde.results.machines import CPU, GPU, readers_by_relevance, series_of

_COLUMNS = 300


class NodeHeatmap(Chart):
    """Utilization of every core and GPU over time; by default, of the node with findings."""

    title = "Cores and GPUs"
    section = "system"
    order = 2
    key = 4
    takes_node = True

    def build(self, job: JobResults) -> Spec | None:
        start_ns = job.facts.start_ns or 0
        for reader in readers_by_relevance(job, self.node):
            series = (*series_of(reader, CPU), *series_of(reader, GPU))
            if not series:
                continue
            rollup = reader.buckets(series, _COLUMNS)
            if not len(rollup.starts_ns):  # series are known, but all their samples are lost
                continue
            width = rollup.width_ns / NANOSECONDS
            is_single_node = len(job.nodes) == 1
            title = self.title if series_of(reader, GPU) else "Cores"
            return Heatmap(
                title=title if is_single_node else f"{title} of {reader.node}",
                note=f"Mean of {format_duration(width)} per column.",
                coarsened=""
                if is_single_node or self.node
                else f"One of {pluralize(len(job.nodes), 'node')}; the next chart shows all.",
                rows=tuple(each.device for each in series),
                x=tuple(((rollup.starts_ns - start_ns) / NANOSECONDS).tolist()),
                x_title="Time since start",
                x_unit="seconds",
                values=tuple(tuple(np.round(row, 0).tolist()) for row in rollup.mean),
                unit="percent",
                low=0.0,
                high=100.0,
            )
        return None
