"""Outliers among steps: the phase that was slow, and system metrics during them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.correlation import correlation, means_by_place
from sonde.analyze.instants import meanwhile, place_of
from sonde.formats import pluralize
from sonde.read.collectives import node_of
from sonde.read.steps import StepTable
from sonde.read.system import SystemReader
from sonde.read.workers import WorkerReader
from sonde.records.chart import Bars, BarSeries, Curve, LineChart, Spec
from sonde.results.outlier_steps import StepOutliers as Found
from sonde.results.outlier_steps import excesses, outliers_of
from sonde.results.record_rows import RecordRows
from sonde.results.tables import Frame

Systems = Callable[[], tuple[SystemReader, ...]]

_USUAL_METRICS = "*_percent"
_MOST_BARS = 20
_EMPTY = "No outliers among the steps"


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
    def found(self) -> tuple[Found, ...]:
        """Per worker and mode."""
        return tuple(outliers_of(one) for one in self.tables if len(one.steps))

    @cached_property
    def steps(self) -> tuple[OutlierStep, ...]:
        """The longest first."""
        rows = [row for one in self.found for row in _rows(one)]
        return tuple(sorted(rows, key=lambda row: -row.seconds))

    def __len__(self) -> int:
        return len(self.steps)

    def to_arrow(self) -> pa.Table:
        """One row per outlier, the longest first."""
        return self._records.to_arrow()

    def system(self, metric: str = _USUAL_METRICS) -> "OutlierMetrics":
        """System metrics during outliers and during normal steps.

        Args:
            metric: A metric's name, or a pattern; all percentages by default.
        """
        nodes = {one.rank: node_of(one) for one in self.readers}
        systems = {one.node: one for one in self.systems()}
        rows = [
            row
            for one in self.found
            if one.is_outlier.any() and nodes.get(one.table.worker) in systems
            for row in _during(one, systems[nodes[one.table.worker]], metric)
        ]
        rows.sort(key=lambda row: -abs(row.difference))
        return OutlierMetrics(tuple(rows))

    def __repr__(self) -> str:
        return repr(self._records)

    @property
    def _records(self) -> RecordRows:
        return RecordRows(self.steps, OutlierStep, _EMPTY)

    def _picture(self) -> Spec:
        """Durations of all steps, and the outlier limit."""
        one = max(self.found, key=lambda one: int(one.is_outlier.sum()))
        limit = np.full(len(one.seconds), one.limit)
        named = {"steps": one.seconds, "outlier limit": limit}
        return LineChart(
            title="Step outliers",
            note=f"Worker {one.table.worker}: {pluralize(int(one.is_outlier.sum()), 'outlier')}.",
            x=tuple(one.table.steps.tolist()),
            x_title="Step",
            unit="seconds",
            curves=tuple(
                Curve(label=name, values=tuple(row.tolist())) for name, row in named.items()
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
        nothing = "No system metrics recorded during outliers"
        return repr(RecordRows(self.rows, MetricDuring, nothing))

    def _picture(self) -> Spec:
        shown = self.rows[:_MOST_BARS]
        return Bars(
            title="Normal steps and outliers",
            labels=tuple(f"{one.device} {one.metric}".strip() for one in shown),
            parts=tuple(
                BarSeries(label=name, values=tuple(getattr(one, name) for one in shown))
                for name in ("normal", "outliers")
            ),
            unit="percent" if all(one.metric.endswith("_percent") for one in shown) else "",
        )


def _rows(one: Found) -> Iterator[OutlierStep]:
    table = one.table
    for found in excesses(one):
        place = found.place
        yield OutlierStep(
            table.worker,
            table.mode,
            int(table.steps[place]),
            int(table.starts_ns[place]),
            float(one.seconds[place]),
            one.median_seconds,
            found.phase,
            found.seconds,
        )


def _during(one: Found, system: SystemReader, metric: str) -> Iterator[MetricDuring]:
    order = np.argsort(one.table.starts_ns, kind="stable")
    order = order[(one.is_outlier | one.is_normal)[order]]
    starts_ns, ends_ns = one.table.starts_ns[order], one.table.ends_ns[order]
    series = system.series(metric)
    times_ns, values = system.samples(series)
    places = place_of(times_ns, starts_ns, ends_ns)
    for which, row in zip(series, values, strict=True):
        found = meanwhile(row.astype(np.float64), places, one.is_outlier[order])
        if found is None:
            continue
        together = correlation(means_by_place(row, places, len(order)), one.seconds[order])
        yield MetricDuring(
            which.metric.name,
            which.device,
            system.node,
            one.table.worker,
            found.outside,
            found.inside,
            found.inside - found.outside,
            together,
            found.inside_count,
        )
