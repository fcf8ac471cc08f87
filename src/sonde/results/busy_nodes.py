"""Utilization of nodes over time: of their GPUs, or of their CPUs without GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.fleets import on_grid, order_by_deviation
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.results.machines import CPU, GPU, series_of

_COLUMNS = 150


@dataclass(frozen=True)
class BusyNodes:
    """Utilization: a row per node, a column per time bucket."""

    of: str  # GPU or CPU
    grid_ns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


def busy_nodes(readers: Sequence[SystemReader], columns: int = _COLUMNS) -> BusyNodes | None:
    """The utilization of all nodes on a common time axis; None without samples."""
    has_gpus = any(series_of(reader, GPU) for reader in readers)
    metric = GPU if has_gpus else CPU
    spans = [extent for reader in readers if (extent := reader.extent) is not None]
    if not spans:
        return None
    first_ns, last_ns = min(span.first_ns for span in spans), max(span.last_ns for span in spans)
    grid = np.linspace(first_ns, last_ns + 1, columns + 1).astype(np.int64)
    rows = [_row(reader, _series(reader, metric), grid) for reader in readers]
    return BusyNodes("GPU" if has_gpus else "CPU", grid, np.array(rows))


def most_unusual_nodes(readers: Sequence[SystemReader], limit: int) -> list[SystemReader]:
    """The nodes that differ most from the others; all nodes if there are few."""
    busy = busy_nodes(readers) if len(readers) > limit else None
    if busy is None:
        return list(readers[:limit])
    return [readers[index] for index in order_by_deviation(busy.values)[:limit]]


def _series(reader: SystemReader, metric: str) -> tuple[Series, ...]:
    return series_of(reader, metric, is_whole=metric == CPU)


def _row(
    reader: SystemReader, series: tuple[Series, ...], grid: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    if not series:
        return np.full(len(grid) - 1, np.nan)
    rollup = reader.buckets(series, len(grid) - 1)
    return on_grid(rollup.starts_ns, rollup.mean, grid)
