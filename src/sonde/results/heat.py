"""Series in time buckets, as curves with their range and as heatmaps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.analyze.natural_sort import natural_sort_key
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.records.chart import Curve, Group, Heatmap, LineChart, Spec
from sonde.records.metric import Series
from sonde.results.tables import TIME, Frame
from sonde.store.rollups import Rollup
from sonde.store.tables import from_numpy, from_texts, repeated

_MAX_CURVES = 12
_MAX_CHARTS = 6
_MAX_NAMED = 3
_PERCENT = "percent"
_SINCE = "Time since start"


@dataclass(frozen=True)
class Buckets(Frame):
    """Series in time buckets."""

    series: tuple[Series, ...]
    rollups: tuple[tuple[str, Rollup], ...]
    start_ns: int | None = None  # start of the job

    def to_arrow(self) -> pa.Table:
        """One row per node, series and bucket."""
        tables = [self._table(node, rollup) for node, rollup in self.rollups]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _table(self, node: str, rollup: Rollup) -> pa.Table:
        buckets = len(rollup.starts_ns)
        return pa.table(
            {
                "time": from_numpy(np.tile(rollup.starts_ns, len(self.series))).cast(TIME),
                "node": repeated(node, buckets * len(self.series)),
                "series": from_texts([each.key for each in self.series for _ in range(buckets)]),
                "minimum": from_numpy(rollup.minimum.reshape(-1)),
                "mean": from_numpy(rollup.mean.reshape(-1)),
                "maximum": from_numpy(rollup.maximum.reshape(-1)),
                "count": from_numpy(rollup.count.reshape(-1)),
            }
        )

    def __repr__(self) -> str:
        if not self.series:
            return "No matching metric recorded"
        names = list(dict.fromkeys(each.metric.name for each in self.series))
        label = ", ".join(names) if len(names) <= _MAX_NAMED else f"{len(names)} metrics"
        widths = {format_duration(rollup.width_ns / NANOSECONDS) for _, rollup in self.rollups}
        count = max((len(rollup.starts_ns) for _, rollup in self.rollups), default=0)
        series = pluralize(len(self.series), "series", "series")
        return f"{label}: {series} in {pluralize(count, 'bucket')} of {', '.join(sorted(widths))}"

    def _chart_spec(self) -> Spec:
        """A chart per metric."""
        metrics = list(dict.fromkeys(each.metric.name for each in self.series))
        charts = tuple(self._chart(name) for name in metrics[:_MAX_CHARTS])
        if len(charts) == 1:
            return charts[0]
        remaining = len(metrics) - len(charts)
        return Group(
            title="System metrics",
            parts=charts,
            coarsened=f"{pluralize(remaining, 'more metric')} not shown. Select fewer metrics."
            if remaining
            else "",
        )

    def _chart(self, metric: str) -> LineChart:
        axis = self._axis
        rows = [row for row in self._rows() if row[1].metric.name == metric]
        unit = rows[0][1].metric.unit if rows else ""
        curves = tuple(self._curve(axis, *row) for row in rows[:_MAX_CURVES])
        is_coarse = len(rows) > _MAX_CURVES
        return LineChart(
            title=metric,
            coarsened=f"Only {_MAX_CURVES} of {len(rows):,} series are shown." if is_coarse else "",
            x=tuple(((axis - self._origin_ns) / NANOSECONDS).tolist()),
            x_title=_SINCE,
            x_unit="seconds",
            unit=unit,
            curves=curves,
            low=0.0 if unit == _PERCENT else None,
            high=100.0 if unit == _PERCENT and self._highest(rows) <= 100 else None,
        )

    def _curve(
        self,
        axis: "np.ndarray[tuple[int], np.dtype[np.int64]]",
        label: str,
        _: Series,
        index: int,
        rollup: Rollup,
    ) -> Curve:
        at = np.searchsorted(axis, rollup.starts_ns)
        rows = {}
        for name in ("mean", "minimum", "maximum"):
            aligned = np.full(len(axis), np.nan)
            aligned[at] = getattr(rollup, name)[index]
            rows[name] = tuple(aligned.tolist())
        return Curve(label=label, values=rows["mean"], low=rows["minimum"], high=rows["maximum"])

    def _rows(self) -> Iterator[tuple[str, Series, int, Rollup]]:
        """Every series of every node, with its label."""
        for node, rollup in self.rollups:
            devices = [natural_sort_key(each.device) for each in self.series]
            indices = sorted(range(len(self.series)), key=devices.__getitem__)
            for index in indices:
                series = self.series[index]
                device = series.device or "whole node"
                label = device if len(self.rollups) == 1 else f"{node} {device}"
                if np.isfinite(rollup.mean[index]).any():
                    yield label, series, index, rollup

    @property
    def _axis(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        empty = np.empty(0, dtype=np.int64)
        return np.unique(np.concatenate([empty, *(each.starts_ns for _, each in self.rollups)]))

    @property
    def _origin_ns(self) -> int:
        axis = self._axis
        return self.start_ns or (int(axis[0]) if len(axis) else 0)

    @staticmethod
    def _highest(rows: "list[tuple[str, Series, int, Rollup]]") -> float:
        return max((float(np.nanmax(row.maximum[index])) for _, _, index, row in rows), default=0.0)


@dataclass(frozen=True, repr=False)
class Heat(Buckets):
    """Series in time buckets, plotted as a heatmap."""

    def _chart_spec(self) -> Spec:
        axis = self._axis
        rows = list(self._rows())
        unit = rows[0][1].metric.unit if rows else ""
        means = [self._curve(axis, *row).values for row in rows]
        means_array = np.array([[each for each in row if each is not None] for row in means])
        finite = means_array[np.isfinite(means_array)] if means_array.size else np.zeros(1)
        is_share = unit == _PERCENT and float(finite.max()) <= 100
        names = list(dict.fromkeys(each.metric.name for each in self.series))
        return Heatmap(
            title=", ".join(names) or "Heatmap",
            rows=tuple(label for label, *_ in rows),
            x=tuple(((axis - self._origin_ns) / NANOSECONDS).tolist()),
            x_title=_SINCE,
            x_unit="seconds",
            values=tuple(means),
            unit=unit,
            low=0.0 if is_share else float(finite.min()),
            high=100.0 if is_share else float(finite.max()),
        )
