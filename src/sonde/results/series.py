"""Statistics of a tensor over steps, by worker or merged, as data frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.read.tensors import Columns
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.chart import Bars, BarSeries, Heatmap, Spec
from sonde.results.charts import lines
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy

_LAST = 10


@dataclass(frozen=True)
class TensorSeries:
    """Statistics of one worker, or merged over all workers, by step."""

    worker: int | None  # None: merged from the shards of several workers
    steps: IntArray
    times_ns: IntArray
    columns: Columns
    values: FloatArray

    def with_values(self, values: npt.NDArray[Any]) -> "TensorSeries":
        """A copy with values computed from the statistics."""
        return replace(self, values=np.asarray(values, dtype=np.float64))

    def table(self, values: dict[str, FloatArray]) -> pa.Table:
        """A table with worker, step, time and the given columns."""
        rows = len(self.steps)
        no_worker = pa.nulls(rows, pa.int64())
        return pa.table(
            {
                "worker": no_worker
                if self.worker is None
                else from_numpy(np.full(rows, self.worker)),
                "step": from_numpy(self.steps),
                "time": from_numpy(self.times_ns).cast(TIME),
                **{name: from_numpy(column) for name, column in values.items()},
            }
        )


@dataclass(frozen=True)
class Reduction(Frame):
    """A reduction of a tensor over steps. Iterating yields steps and values.

    For a tensor that every worker has, iteration yields the values of the first worker.
    """

    tensor: str
    reduction: str
    series: tuple[TensorSeries, ...]

    def __iter__(self) -> Iterator[tuple[int, float]]:
        first = self.series[0]
        return zip(first.steps.tolist(), first.values.tolist(), strict=True)

    def __len__(self) -> int:
        return sum(len(each.steps) for each in self.series)

    def by_worker(self) -> dict[int | None, tuple[IntArray, FloatArray]]:
        """Steps and values per worker as NumPy arrays; None is the merged tensor."""
        return {each.worker: (each.steps, each.values) for each in self.series}

    def to_arrow(self) -> pa.Table:
        """One row per worker and step; `worker` is null for a merged tensor."""
        return pa.concat_tables([each.table({"value": each.values}) for each in self.series])

    def __repr__(self) -> str:
        if not len(self):
            return f"No {self.reduction} of {self.tensor} recorded"
        titles = ("worker", "steps", "first", "last", "minimum", "maximum")
        rows = [_described(each) for each in self.series if len(each.steps)]
        return f"{self.reduction} of {self.tensor}\n{aligned([titles, *rows], left_columns=1)}"

    def _chart_spec(self) -> Spec:
        title = f"{self.reduction} of {self.tensor}"
        series = {f"worker {_rank(each.worker)}": (each.steps, each.values) for each in self.series}
        return lines(series, title)


@dataclass(frozen=True)
class Quantiles(Frame):
    """Quantiles of a tensor over steps."""

    tensor: str
    fractions: tuple[float, ...]
    series: tuple[TensorSeries, ...]  # their values as (step, fraction)

    def to_arrow(self) -> pa.Table:
        """One row per worker and step, one column per quantile: `p50` is the median."""
        return pa.concat_tables(
            [
                each.table(
                    {
                        f"p{100 * fraction:g}": each.values[:, index]
                        for index, fraction in enumerate(self.fractions)
                    }
                )
                for each in self.series
            ]
        )

    def __repr__(self) -> str:
        table = self.to_arrow().drop_columns(["time"])
        if not table.num_rows:
            return f"No statistics of {self.tensor} recorded"
        names = [name for name in table.column_names if name.startswith("p")]
        rows_known = [row for row in table.to_pylist() if not np.isnan(row[names[0]])]
        if not rows_known:
            return f"No histograms of {self.tensor} recorded; quantiles are computed from them"
        rows = [
            (_rank(row["worker"]), str(row["step"]), *(f"{row[name]:.4g}" for name in names))
            for row in rows_known[-_LAST:]
        ]
        header = f"Quantiles of {self.tensor} at {len(rows_known)} of {table.num_rows} steps"
        which = "; latest:" if len(rows_known) > _LAST else ""
        return f"{header}{which}\n{aligned([('worker', 'step', *names), *rows], left_columns=1)}"

    def _chart_spec(self) -> Spec:
        first = self.series[0]
        has_histogram = ~np.isnan(first.values).all(axis=1)  # steps with a histogram
        series = {
            f"p{100 * fraction:g}": (first.steps[has_histogram], first.values[has_histogram, index])
            for index, fraction in enumerate(self.fractions)
        }
        return lines(series, f"Quantiles of {self.tensor}")


@dataclass(frozen=True)
class Histogram(Frame):
    """Counts in bins that are the same for every tensor: half octaves, symmetric about zero.

    Zeros are in the bin that begins at zero; non-finite values are not counted.
    """

    edges: FloatArray
    counts: IntArray

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter((self.edges, self.counts))

    def to_arrow(self) -> pa.Table:
        """One row per non-empty bin: from, to, count."""
        bins = np.flatnonzero(self.counts)
        return pa.table(
            {
                "from": from_numpy(self.edges[bins]),
                "to": from_numpy(self.edges[bins + 1]),
                "count": from_numpy(self.counts[bins]),
            }
        )

    def __repr__(self) -> str:
        bins = np.flatnonzero(self.counts).tolist()
        if not bins:
            return "Empty histogram"
        highest = int(self.counts.max())
        rows = [self._row(index) for index in bins]
        bars = ["", *("█" * max(1, round(40 * int(self.counts[at]) / highest)) for at in bins)]
        lines = aligned([("from", "to", "count"), *rows], left_columns=0).split("\n")
        return "\n".join(f"{line}  {bar}".rstrip() for line, bar in zip(lines, bars, strict=True))

    def _row(self, index: int) -> Sequence[str]:
        low, high = self.edges[index], self.edges[index + 1]
        return f"{low:.3g}", f"{high:.3g}", str(self.counts[index])

    def _chart_spec(self) -> Spec:
        """A bar per non-empty bin."""
        bins = np.flatnonzero(self.counts).tolist()
        return Bars(
            title="Histogram",
            note="Empty bins are not shown.",
            labels=tuple(f"{self.edges[at]:.3g} to {self.edges[at + 1]:.3g}" for at in bins),
            parts=(BarSeries(label="count", values=tuple(int(self.counts[at]) for at in bins)),),
        )


@dataclass(frozen=True)
class Histograms(Frame):
    """Histograms of a tensor over steps, with the same edges at every step.

    Outer bins that are empty at every step are removed. Zeros are counted separately. Only steps
    with a histogram are included.
    """

    tensor: str
    worker: int | None
    steps: IntArray
    edges: FloatArray
    counts: IntArray  # as (step, bin)
    zeros: IntArray

    def __len__(self) -> int:
        return len(self.steps)

    def to_arrow(self) -> pa.Table:
        """One row per step and non-empty bin; zeros are a bin from zero to zero."""
        rows, bins = np.nonzero(self.counts)
        with_zeros = np.flatnonzero(self.zeros)
        no_values = np.zeros(len(with_zeros))
        columns = {
            "step": np.concatenate([self.steps[rows], self.steps[with_zeros]]),
            "from": np.concatenate([self.edges[bins], no_values]),
            "to": np.concatenate([self.edges[bins + 1], no_values]),
            "count": np.concatenate([self.counts[rows, bins], self.zeros[with_zeros]]),
        }
        order = np.lexsort((columns["from"], columns["step"]))
        return pa.table({name: from_numpy(column[order]) for name, column in columns.items()})

    def __repr__(self) -> str:
        if not len(self):
            return f"No histograms of {self.tensor} recorded"
        first, last = int(self.steps[0]), int(self.steps[-1])
        if len(self) == 1:
            return f"Histogram of {self.tensor} at step {first}"
        return f"Histograms of {self.tensor} at {len(self)} steps from {first} to {last}"

    def _chart_spec(self) -> Spec:
        used = np.flatnonzero(self.counts.any(axis=0))[::-1]
        shares = self.counts / np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        return Heatmap(
            title=f"Histograms of {self.tensor}",
            note="Share of values per bin and step. Empty bins are not shown.",
            rows=tuple(f"{self.edges[at]:.3g}" for at in used),
            x=tuple(self.steps.tolist()),
            x_title="Step",
            values=tuple(tuple((100 * row).tolist()) for row in shares.T[used]),
            unit="percent",
            low=0.0,
            high=float(100 * shares.max()) if shares.size else 1.0,
        )


def _described(series: TensorSeries) -> tuple[str, ...]:
    finite = series.values[~np.isnan(series.values)]
    extremes = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    numbers = (series.values[0], series.values[-1], *extremes)
    return (_rank(series.worker), str(len(series.steps)), *(f"{number:.5g}" for number in numbers))


def _rank(worker: int | None) -> str:
    return "all" if worker is None else str(worker)
