"""Outliers among steps: the phase that was slow, and system metrics during them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.correlation import correlation, means_by_interval
from sonde.analyze.instants import compare_intervals, interval_indices
from sonde.formats import pluralize
from sonde.read.collectives import node_of
from sonde.read.steps import StepTable
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import Bars, BarSeries, Curve, LineChart, Spec
from sonde.results.outlier_steps import StepOutliers as OutlierGroup
from sonde.results.outlier_steps import excesses, outliers_of
from sonde.results.record_rows import RecordRows
from sonde.results.tables import Frame

Systems = Callable[[], tuple[SystemReader, ...]]

_DEFAULT_METRICS = "*_percent"
_MAX_BARS = 20
_EMPTY = "No outliers found"


@dataclass(frozen=True, slots=True)
class OutlierStep:
    """A step that took much longer than the median."""

    worker: int
    mode: str
    step: int
    start_ns: int
    seconds: float
    usual_seconds: float  # the median of the normal steps
    phase: str  # that exceeded its median most
    excess_seconds: float  # above the median of that phase


@dataclass(frozen=True, slots=True)
class MetricDuring:
    """One series during outliers and during normal steps."""

    metric: str
    device: str
    node: str
    worker: int
    normal: float
    outliers: float
    difference: float
    correlation: float  # of its mean in a step with how long the step took
    samples: int  # during outliers


@dataclass(frozen=True)
class StepOutliers(Frame):
    """Steps that exceed both 1.5 times the median and the median plus three deviations."""

    tables: tuple[StepTable, ...]
    readers: tuple[WorkerReader, ...] = ()
    systems: Systems = tuple

    @cached_property
    def groups(self) -> tuple[OutlierGroup, ...]:
        """Per worker and mode."""
        return tuple(outliers_of(table) for table in self.tables if len(table.steps))

    @cached_property
    def steps(self) -> tuple[OutlierStep, ...]:
        """The longest first."""
        rows = [row for each in self.groups for row in _rows(each)]
        return tuple(sorted(rows, key=lambda row: -row.seconds))

    def __len__(self) -> int:
        return len(self.steps)

    def to_arrow(self) -> pa.Table:
        """One row per outlier, the longest first."""
        return self._records.to_arrow()

    def system(self, metric: str = _DEFAULT_METRICS) -> "OutlierMetrics":
        """System metrics during outliers and during normal steps.

        Args:
            metric: A metric's name, or a pattern; all percentages by default.
        """
        nodes = {reader.rank: node_of(reader) for reader in self.readers}
        systems = {system.node: system for system in self.systems()}
        rows = [
            row
            for each in self.groups
            if each.is_outlier.any() and nodes.get(each.table.worker) in systems
            for row in _during(each, systems[nodes[each.table.worker]], metric)
        ]
        rows.sort(key=lambda row: -abs(row.difference))
        return OutlierMetrics(tuple(rows))

    def __repr__(self) -> str:
        return repr(self._records)

    @property
    def _records(self) -> RecordRows:
        return RecordRows(self.steps, OutlierStep, _EMPTY)

    def _chart_spec(self) -> Spec:
        """Durations of all steps, and the outlier limit."""
        group = max(self.groups, key=lambda each: int(each.is_outlier.sum()))
        limit = np.full(len(group.seconds), group.limit)
        outliers = pluralize(int(group.is_outlier.sum()), "outlier")
        curves = {"steps": group.seconds, "outlier limit": limit}
        return LineChart(
            title="Step outliers",
            note=f"Worker {group.table.worker}: {outliers}.",
            x=tuple(group.table.steps.tolist()),
            x_title="Step",
            unit="seconds",
            curves=tuple(
                Curve(label=name, values=tuple(row.tolist())) for name, row in curves.items()
            ),
        )


@dataclass(frozen=True)
class OutlierMetrics(Frame):
    """Series during outliers and during normal steps, the largest difference first."""

    rows: tuple[MetricDuring, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """One row per worker and series of its node."""
        return RecordRows(self.rows, MetricDuring).to_arrow()

    def __repr__(self) -> str:
        empty_text = "No system metrics recorded during outliers"
        return repr(RecordRows(self.rows, MetricDuring, empty_text))

    def _chart_spec(self) -> Spec:
        shown = self.rows[:_MAX_BARS]
        return Bars(
            title="Normal steps and outliers",
            labels=tuple(f"{each.device} {each.metric}".strip() for each in shown),
            parts=tuple(
                BarSeries(label=name, values=tuple(getattr(each, name) for each in shown))
                for name in ("normal", "outliers")
            ),
            unit="percent" if all(each.metric.endswith("_percent") for each in shown) else "",
        )


def _rows(outliers: OutlierGroup) -> Iterator[OutlierStep]:
    table = outliers.table
    for excess in excesses(outliers):
        index = excess.index
        yield OutlierStep(
            table.worker,
            table.mode,
            int(table.steps[index]),
            int(table.starts_ns[index]),
            float(outliers.seconds[index]),
            outliers.median_seconds,
            excess.phase,
            excess.seconds,
        )


def _during(outliers: OutlierGroup, system: SystemReader, metric: str) -> Iterator[MetricDuring]:
    order = np.argsort(outliers.table.starts_ns, kind="stable")
    order = order[(outliers.is_outlier | outliers.is_normal)[order]]
    starts_ns, ends_ns = outliers.table.starts_ns[order], outliers.table.ends_ns[order]
    series = system.series(metric)
    times_ns, values = system.samples(series)
    indices = interval_indices(times_ns, starts_ns, ends_ns)
    for which, row in zip(series, values, strict=True):
        comparison = compare_intervals(row.astype(np.float64), indices, outliers.is_outlier[order])
        if comparison is None:
            continue
        coefficient = correlation(
            means_by_interval(row, indices, len(order)), outliers.seconds[order]
        )
        yield MetricDuring(
            which.metric.name,
            which.device,
            system.node,
            outliers.table.worker,
            comparison.outside,
            comparison.inside,
            comparison.inside - comparison.outside,
            coefficient,
            comparison.inside_count,
        )
