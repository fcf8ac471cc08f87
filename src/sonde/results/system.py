"""System metrics of a job, as data frames, buckets and statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.extents import Extents
from sonde.analyze.percentiles import percentiles
from sonde.errors import UsageError
from sonde.formats import format_value
from sonde.read.name_patterns import Expression, select_names
from sonde.read.system import SystemReader
from sonde.records.chart import Spec
from sonde.records.metric import Series
from sonde.records.ranges import EVER, TimeRange
from sonde.results.charts import bars
from sonde.results.distributions import Distribution, distribution_of
from sonde.results.events import Events
from sonde.results.heat import Buckets, Heat
from sonde.results.intervals import extents_by_node
from sonde.results.names import no_match_text
from sonde.results.steps import Steps
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.rollups import Floats, Instants, Rollup
from sonde.store.tables import from_numpy, repeated

_PERCENTAGES = (0, 50, 90, 95, 99, 100)
_POINTS = 400
_NUMBERS = ("minimum", "p50", "p90", "p95", "p99", "maximum")


@dataclass(frozen=True)
class SystemMetrics(Frame):
    """Series of nodes over a time range; read on first use."""

    readers: tuple[SystemReader, ...]
    metric: str = "*"
    device: str | None = None
    within: TimeRange = EVER
    start_ns: int | None = None  # start of the job
    spans: Mapping[str, Extents] | None = None  # by node; only samples within them are used

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The matching series of all nodes."""
        names, _ = self._selected
        series_by_key = {
            each.key: each
            for reader in self.readers
            for each in reader.series("*", self.device)
            if each.metric.name in names
        }
        return tuple(series_by_key.values())

    @cached_property
    def _selected(self) -> tuple[frozenset[str], Expression | None]:
        """The matching metrics, and the expression if the pattern was read as one."""
        every = {each.metric.name for reader in self.readers for each in reader.series("*")}
        names, expression = select_names(self.metric, sorted(every))
        return frozenset(names), expression

    def to_arrow(self) -> pa.Table:
        """One row per tick and node, one column per series."""
        tables = []
        for reader in self.readers:
            times, values = self._samples(reader)
            columns: dict[str, Any] = {
                "time": from_numpy(times).cast(TIME),
                "node": repeated(reader.node, len(times)),
            }
            columns |= {
                each.key: from_numpy(row) for each, row in zip(self.series, values, strict=True)
            }
            tables.append(pa.table(columns))
        return pa.concat_tables(tables) if tables else pa.table({})

    def by_device(self) -> dict[str, tuple[Instants, Floats]]:
        """Timestamps and values per series as NumPy arrays; with several nodes, per node.

        Keys are device names if they are sufficient to distinguish the series.
        """
        result = {}
        is_one_metric = len({each.metric.name for each in self.series}) == 1
        for reader in self.readers:
            times, values = self._samples(reader)
            for each, row in zip(self.series, values, strict=True):
                label = each.device if is_one_metric and each.device else each.key
                result[label if len(self.readers) == 1 else f"{reader.node}:{label}"] = (times, row)
        return result

    def buckets(self, max_buckets: int = 1000) -> "Buckets":
        """Minimum, mean and maximum in up to `max_buckets` time buckets."""
        if max_buckets < 1:
            raise UsageError(f"Invalid number of buckets: {max_buckets}. Use 1 or more.")
        return Buckets(self.series, self._rollups(max_buckets), self.start_ns)

    def heatmap(self, columns: int = 300) -> "Heat":
        """The mean of each device in up to `columns` time buckets, plotted as a heatmap."""
        return Heat(self.series, self._rollups(columns), self.start_ns)

    def histogram(self, bins: int | Sequence[float] = 20) -> Distribution:
        """Distribution of the samples of each series.

        Args:
            bins: Number of bins of equal width, or their edges such as `(0, 10, 90, 100)`.
        """
        units = {each.metric.unit for each in self.series}
        if len(units) > 1:
            raise UsageError(
                f"{self.metric!r} has several units: {', '.join(sorted(units))}. Select one."
            )
        groups = {name: values for name, (_, values) in self.by_device().items()}
        return distribution_of(groups, bins, self.metric, "".join(units), "samples")

    def during(self, intervals: Events | Steps) -> "SystemMetrics":
        """Only the samples during events or steps on the same node.

        Args:
            intervals: Such as `job.events("data_wait")` or `job.steps(start_step=100)`.
        """
        spans = extents_by_node(intervals.to_arrow(), intervals.readers)
        return replace(self, spans=spans)

    def statistics(self) -> "Statistics":
        """Exact minimum, percentiles and maximum per node and series."""
        rows = []
        for reader in self.readers:
            _, values = self._samples(reader)
            counts = np.count_nonzero(~np.isnan(values), axis=1)
            table = percentiles(values, _PERCENTAGES)
            for each, count, numbers in zip(self.series, counts, table, strict=True):
                rows.append(StatisticsRow(reader.node, each, int(count), *map(float, numbers)))
        return Statistics(tuple(rows))

    def _samples(self, reader: SystemReader) -> tuple[Instants, Floats]:
        times, values = reader.samples(self.series, self.within)
        if self.spans is None:
            return times, values
        is_in = self.spans[reader.node].contains(times) if reader.node in self.spans else times < 0
        return times[is_in], values[:, is_in]

    def _rollups(self, max_buckets: int) -> tuple[tuple[str, Rollup], ...]:
        if self.spans is not None:
            raise UsageError("Buckets cannot be combined with during(). Call buckets() without it.")
        return tuple(
            (reader.node, reader.buckets(self.series, max_buckets, self.within))
            for reader in self.readers
        )

    def __repr__(self) -> str:
        if not self.series:
            names = {each.metric.name for reader in self.readers for each in reader.series("*")}
            groups = {f"{name.partition('.')[0]}.*" for name in names}
            return no_match_text("metric", self.metric, groups if "*" in self.metric else names)
        _, expression = self._selected
        text = repr(self.statistics())
        return text if expression is None else f"{text}\n{expression.note}"

    def _shown(self) -> pa.Table:
        return self.statistics().to_arrow()

    def _is_empty(self) -> bool:
        return not self.series

    def _chart_spec(self) -> Spec:
        is_part = self.spans is not None
        shown: Frame = self.histogram() if is_part else self.buckets(_POINTS)
        return shown.plot().spec


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
            return "No matching metric recorded"
        titles = ("node", "metric", "device", "unit", *_NUMBERS)
        lines = [
            (
                row.node,
                row.series.metric.name,
                row.series.device,
                row.series.metric.unit,
                *(_number(getattr(row, name), row.series.metric.unit) for name in _NUMBERS),
            )
            for row in self.rows
        ]
        return aligned([titles, *lines], left_columns=4)

    _units = dict.fromkeys(_NUMBERS, "row")

    def _chart_spec(self) -> Spec:
        units = {row.series.metric.unit for row in self.rows}
        unit = units.pop() if len(units) == 1 else ""
        values = ("p50", "p95", "maximum")
        return bars(self.to_arrow(), "Statistics", ("metric", "device"), values, unit)


def _number(value: float, unit: str) -> str:
    """Bytes and durations with a prefix; other values without a unit, which has its own column."""
    return format_value(value, unit if unit.startswith("bytes") or unit == "seconds" else "")
