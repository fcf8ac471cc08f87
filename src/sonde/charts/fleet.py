"""All nodes over time: how busy the GPUs of each are, or its processors where it has none."""

import numpy as np

from sonde.analyze.fleets import unlike_first
from sonde.charts._chart import Chart
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent
from sonde.records.chart import Heatmap, Spec
from sonde.results.busy_nodes import busy_nodes
from sonde.results.job import JobResults
from sonde.results.machines import readers_of

_MOST = 100  # nodes: those that differ most


class Fleet(Chart):
    """Nodes × time: how busy each node was, those that differ most from the others first."""

    title = "All nodes"
    pages = ("nodes",)
    section = "system"

    def build(self, job: JobResults) -> Spec | None:
        readers = readers_of(job)
        if len(readers) < 2:
            return None
        found = busy_nodes(readers)
        if found is None:
            return None
        values, grid = found.values, found.grid_ns
        order = unlike_first(values)[:_MOST]
        start_ns = job.facts.start_ns or 0
        is_cut = len(order) < len(readers)
        worst = int(order[0])
        return Heatmap(
            title=f"{self.title}: {found.of} utilization",
            note=(
                f"{readers[worst].node} differs most: {format_percent(float(np.nanmean(values[worst])))} "
                f"in the mean, the median of all nodes is {format_percent(float(np.nanmedian(values)))}."
            ),
            coarsened=f"The {_MOST} of {len(readers):,} nodes that differ most." if is_cut else "",
            rows=tuple(readers[place].node for place in order),
            x=tuple(((grid[:-1] - start_ns) / NANOSECONDS).tolist()),
            x_title="Time since the start",
            x_unit="seconds",
            values=tuple(tuple(np.round(values[place], 0).tolist()) for place in order),
            unit="percent",
            low=0.0,
            high=100.0,
        )
