"""Histograms with the same edges for all groups, as data frames."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.analyze.histograms import Counts, count_between, edges_for
from sonde.errors import UsageError
from sonde.formats import format_value
from sonde.records.arrays import FloatArray
from sonde.records.chart import BarSeries, Histogram, Spec
from sonde.results.tables import Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_MAX_GROUPS = 16
_BAR = 30
_PERCENT = "percent"


@dataclass(frozen=True)
class Distribution(Frame):
    """Counts per group and bin; the last edge is included."""

    title: str
    unit: str
    counted: str  # the noun: `steps`, `samples`
    edges: FloatArray
    groups: tuple[str, ...]
    counts: tuple[Counts, ...]  # per group, one less than edges

    def to_arrow(self) -> pa.Table:
        """One row per group and bin: from, to, count, and share of the group."""
        bins = len(self.edges) - 1
        shares = [100 * count / max(1, count.sum()) for count in self.counts]
        empty = np.empty(0)
        return pa.table(
            {
                "group": from_texts([name for name in self.groups for _ in range(bins)]),
                "from": from_numpy(np.tile(self.edges[:-1], len(self.groups))),
                "to": from_numpy(np.tile(self.edges[1:], len(self.groups))),
                "count": from_numpy(np.concatenate([empty, *self.counts]).astype(np.int64)),
                "percent": from_numpy(np.concatenate([empty, *shares])),
            }
        )

    def __repr__(self) -> str:
        total = np.sum(self.counts, axis=0) if self.counts else np.zeros(len(self.edges) - 1)
        if not total.sum():
            return f"{self.title}: no data recorded"
        edges = self._edge_texts()
        rows = [
            (low, high, str(int(count)), "█" * round(_BAR * count / total.max()))
            for low, high, count in zip(edges[:-1], edges[1:], total, strict=True)
        ]
        lines = [(*row[:3], row[3].ljust(_BAR)) for row in rows]
        titles = (f"from {self.unit}", "to", self.counted, " " * _BAR)
        return f"{self.title}\n{aligned([titles, *lines], left_columns=0)}"

    def _edge_texts(self) -> list[str]:
        """The edges as text; narrow bins need more digits."""
        edges = self.edges.tolist()
        texts = [format_value(edge, self.unit) for edge in edges]
        if len(set(texts)) == len(texts):
            return texts
        digits = max(0, 1 - math.floor(math.log10(np.diff(self.edges).min())))
        return [f"{edge:,.{digits}f}" for edge in edges]

    def _chart_spec(self) -> Spec:
        shown = list(zip(self.groups, self.counts, strict=True))[:_MAX_GROUPS]
        count = len(self.groups)
        return Histogram(
            title=self.title,
            coarsened=f"Only {_MAX_GROUPS} of {count:,} groups are shown."
            if count > _MAX_GROUPS
            else "",
            edges=tuple(self.edges.tolist()),
            parts=tuple(BarSeries(label=name, values=tuple(row.tolist())) for name, row in shown),
            unit=self.unit,
            counted=self.counted,
        )


def distribution_of(
    groups: Mapping[str, npt.NDArray[np.floating]],
    bins: int | Sequence[float],
    title: str,
    unit: str,
    counted: str,
) -> Distribution:
    """Count the values of each group between given edges or edges that fit all values.

    Args:
        groups: Values by name of the group.
        bins: Number of bins of equal width, or their edges.
        title: The title of the histogram.
        unit: Of the values.
        counted: The noun for what is counted.
    """
    values = list(groups.values())
    if isinstance(bins, int):
        if bins < 1:
            raise UsageError(f"Invalid number of bins: {bins}. Use 1 or more.")
        is_share = unit == _PERCENT and all(
            np.nanmax(value, initial=0.0) <= 100 for value in values
        )
        edges = np.linspace(0.0, 100.0, bins + 1) if is_share else edges_for(values, bins)
    else:
        edges = np.array(bins, dtype=np.float64)
        if len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise UsageError(f"Invalid edges: {list(bins)}. Use two or more increasing numbers.")
    counts = tuple(count_between(value, edges) for value in values)
    return Distribution(title, unit, counted, edges, tuple(groups), counts)
