"""System metrics of a job, as data frames, buckets and statistics."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.percentiles import percentiles
from sonde.client.frames import TIME, Frame, aligned
from sonde.errors import UsageError
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.store.rollups import Floats, Instants, Rollup
from sonde.store.tables import from_numpy, from_texts

_PERCENTAGES = (0, 50, 90, 95, 99, 100)


@dataclass(frozen=True)
class SystemMetrics(Frame):
    """Some series of some nodes over a range of time; nothing is read until it is asked for."""

    readers: tuple[SystemReader, ...]
    metric: str = "*"
    device: str | None = None
    within: TimeRange = EVER

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The series that fit, of all nodes."""
        found = {
            one.key: one
            for reader in self.readers
            for one in reader.series(self.metric, self.device)
        }
        return tuple(found.values())

    def to_arrow(self) -> pa.Table:
        """One row per tick and node, one column per series."""
        tables = []
        for reader in self.readers:
            times, values = reader.samples(self.series, self.within)
            columns: dict[str, Any] = {
                "time": from_numpy(times).cast(TIME),
                "node": from_texts([reader.node] * len(times)),
            }
            columns |= {
                one.key: from_numpy(row) for one, row in zip(self.series, values, strict=True)
            }
            tables.append(pa.table(columns))
        return pa.concat_tables(tables) if tables else pa.table({})

    def by_device(self) -> dict[str, tuple[Instants, Floats]]:
        """Instants and values per series, for work with numpy; with several nodes, per node.

        The names are those of the devices, where that is enough to tell the series apart.
        """
        result = {}
        is_one_metric = len({one.metric.name for one in self.series}) == 1
        for reader in self.readers:
            times, values = reader.samples(self.series, self.within)
            for one, row in zip(self.series, values, strict=True):
                label = one.device if is_one_metric and one.device else one.key
                result[label if len(self.readers) == 1 else f"{reader.node}:{label}"] = (times, row)
        return result

    def buckets(self, most: int = 1000) -> "Buckets":
        """Minimum, mean and maximum in at most so many buckets of time."""
        if most < 1:
            raise UsageError(f"buckets({most}) is too few. Ask for 1 or more.")
        parts = tuple(
            (reader.node, reader.buckets(self.series, most, self.within)) for reader in self.readers
        )
        return Buckets(self.series, parts)

    def statistics(self) -> "Statistics":
        """Minimum, percentiles and maximum per node and series, exact."""
        rows = []
        for reader in self.readers:
            _, values = reader.samples(self.series, self.within)
            counts = np.count_nonzero(~np.isnan(values), axis=1)
            table = percentiles(values, _PERCENTAGES)
            for one, count, numbers in zip(self.series, counts, table, strict=True):
                rows.append(StatisticsRow(reader.node, one, int(count), *map(float, numbers)))
        return Statistics(tuple(rows))

    def __repr__(self) -> str:
        return repr(self.statistics())


@dataclass(frozen=True)
class Buckets(Frame):
    """Series in buckets of time."""

    series: tuple[Series, ...]
    parts: tuple[tuple[str, Rollup], ...]

    def to_arrow(self) -> pa.Table:
        """One row per node, series and bucket."""
        tables = [self._table(node, rollup) for node, rollup in self.parts]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _table(self, node: str, rollup: Rollup) -> pa.Table:
        buckets = len(rollup.starts_ns)
        return pa.table(
            {
                "time": from_numpy(np.tile(rollup.starts_ns, len(self.series))).cast(TIME),
                "node": from_texts([node] * buckets * len(self.series)),
                "series": from_texts([one.key for one in self.series for _ in range(buckets)]),
                "minimum": from_numpy(rollup.minimum.reshape(-1)),
                "mean": from_numpy(rollup.mean.reshape(-1)),
                "maximum": from_numpy(rollup.maximum.reshape(-1)),
                "count": from_numpy(rollup.count.reshape(-1)),
            }
        )

    def __repr__(self) -> str:
        widths = {f"{rollup.width_ns / 1e9:g} s" for _, rollup in self.parts}
        count = max((len(rollup.starts_ns) for _, rollup in self.parts), default=0)
        return f"{len(self.series)} series in {count} buckets of {', '.join(sorted(widths))}"


@dataclass(frozen=True)
class StatisticsRow:
    """One series of one node."""

    node: str
    series: Series
    count: int
    minimum: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float


@dataclass(frozen=True)
class Statistics(Frame):
    """Minimum, percentiles and maximum per node and series."""

    rows: tuple[StatisticsRow, ...]

    def to_arrow(self) -> pa.Table:
        """One row per node and series."""
        return pa.table(
            {
                "node": [row.node for row in self.rows],
                "metric": [row.series.metric.name for row in self.rows],
                "device": [row.series.device for row in self.rows],
                "unit": [row.series.metric.unit for row in self.rows],
                "count": [row.count for row in self.rows],
                **{name: [getattr(row, name) for row in self.rows] for name in _NUMBERS},
            }
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "no such metric has been recorded"
        titles = ("node", "metric", "device", "unit", *_NUMBERS)
        lines = [
            (
                row.node,
                row.series.metric.name,
                row.series.device,
                row.series.metric.unit,
                *(f"{getattr(row, name):.4g}" for name in _NUMBERS),
            )
            for row in self.rows
        ]
        return aligned([titles, *lines], left=4)


_NUMBERS = ("minimum", "p50", "p90", "p95", "p99", "maximum")
