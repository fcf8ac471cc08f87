"""Utilization of all nodes over time: of their GPUs, or of their CPUs without GPUs."""

import numpy as np

from sonde.analyze.fleets import order_by_deviation
from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.records.chart import Heatmap, Spec
from sonde.results.busy_nodes import busy_nodes
from sonde.results.job import JobResults
from sonde.results.machines import readers_of

_MAX_NODES = 100  # the nodes that differ most from the others


class Fleet(Chart):
    """Utilization by node and time, the most unusual nodes first."""

    title = "All nodes"
    section = "system"
    order = 3
    key = 2

    def build(self, job: JobResults) -> Spec | None:
        readers = readers_of(job)
        if len(readers) < 2:
            return None
        busy = busy_nodes(readers)
        if busy is None:
            return None
        values, grid = busy.values, busy.grid_ns
        order = order_by_deviation(values)[:_MAX_NODES]
        start_ns = job.facts.start_ns or 0
        is_truncated = len(order) < len(readers)
        worst = int(order[0])
        return Heatmap(
            title=f"{self.title}: {busy.of} utilization",
            note=(
                f"{readers[worst].node} differs most from the other nodes: "
                f"{format_percent(float(np.nanmean(values[worst])))} on average, "
                f"median of all nodes {format_percent(float(np.nanmedian(values)))}."
            ),
            coarsened=f"Only the {_MAX_NODES} most unusual of {len(readers):,} nodes are shown."
            if is_truncated
            else "",
            rows=tuple(readers[index].node for index in order),
            x=tuple(((grid[:-1] - start_ns) / NANOSECONDS).tolist()),
            x_title="Time since start",
            x_unit="seconds",
            values=tuple(tuple(np.round(values[index], 0).tolist()) for index in order),
            unit="percent",
            low=0.0,
            high=100.0,
        )
