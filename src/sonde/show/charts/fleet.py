"""All nodes over time: how busy the GPUs of each are, or its processors where it has none."""

import numpy as np
import numpy.typing as npt

from sonde.analyze.fleets import on_grid, unlike_first
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.machines import CPU, GPU, readers_of, series_of
from sonde.show.specs import Heatmap, Spec
from sonde.show.units import percent

_COLUMNS = 150
_MOST = 100  # nodes: those that differ most


class Fleet(Chart):
    """Nodes × time: how busy each node was, those that differ most from the others first."""

    title = "All nodes"
    pages = ("nodes",)
    section = "system"

    def build(self, job: JobView) -> Spec | None:
        readers = readers_of(job)
        if len(readers) < 2:
            return None
        has_gpus = any(series_of(reader, GPU) for reader in readers)
        metric = GPU if has_gpus else CPU
        spans = [one for reader in readers if (one := _extent(reader)) is not None]
        if not spans:
            return None
        first_ns, last_ns = min(one[0] for one in spans), max(one[1] for one in spans)
        grid = np.linspace(first_ns, last_ns + 1, _COLUMNS + 1).astype(np.int64)
        rows = [_row(reader, _series(reader, metric), grid) for reader in readers]
        values = np.array(rows)
        order = unlike_first(values)[:_MOST]
        start_ns = job.facts.start_ns or 0
        is_cut = len(order) < len(readers)
        worst = int(order[0])
        return Heatmap(
            title=f"{self.title}: {'GPU' if has_gpus else 'CPU'} utilization",
            note=(
                f"{readers[worst].node} differs most: {percent(float(np.nanmean(values[worst])))} "
                f"in the mean, the median of all nodes is {percent(float(np.nanmedian(values)))}."
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


def _extent(reader: SystemReader) -> tuple[int, int] | None:
    extent = reader.extent
    return None if extent is None else (extent.first_ns, extent.last_ns)


def _series(reader: SystemReader, metric: str) -> tuple[Series, ...]:
    return series_of(reader, metric, is_whole=metric == CPU)


def _row(
    reader: SystemReader, series: tuple[Series, ...], grid: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    if not series:
        return np.full(len(grid) - 1, np.nan)
    rollup = reader.buckets(series, _COLUMNS)
    return on_grid(rollup.starts_ns, rollup.mean, grid)
