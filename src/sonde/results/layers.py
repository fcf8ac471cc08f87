"""A reduction of many tensors over steps, to find the layer that differs."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.formats import pluralize
from sonde.records.chart import Heatmap, Spec
from sonde.results.series import Reduction
from sonde.results.tables import Frame, aligned
from sonde.store.tables import repeated

_MAX_LINES = 40
_MAX_ROWS = 60
_MAX_COLUMNS = 200


@dataclass(frozen=True)
class Layers(Frame):
    """The same reduction of several tensors; of replicas, the first worker's."""

    reduction: str
    reductions: tuple[Reduction, ...]

    def __len__(self) -> int:
        return len(self.reductions)

    def to_arrow(self) -> pa.Table:
        """One row per tensor, worker and step."""
        tables = [
            rows.add_column(0, "tensor", repeated(each.tensor, rows.num_rows))
            for each in self.reductions
            if (rows := each.to_arrow()).num_rows
        ]
        return pa.concat_tables(tables) if tables else pa.table({})

    def __repr__(self) -> str:
        values_by_name = [
            (each.tensor, np.array([value for _, value in each])) for each in self.reductions
        ]
        rows = [
            (name, str(len(values)), *(f"{number:.4g}" for number in _described(values)))
            for name, values in values_by_name
            if len(values)
        ]
        if not rows:
            return f"No {self.reduction} of a matching tensor recorded"
        titles = (f"{self.reduction} of", "steps", "first", "last", "minimum", "maximum")
        more = f"\n… and {len(rows) - _MAX_LINES} more" if len(rows) > _MAX_LINES else ""
        return aligned([titles, *rows[:_MAX_LINES]], left_columns=1) + more

    def _chart_spec(self) -> Spec:
        """A row per tensor, a column per step; logarithmic if all values are positive or zero."""
        shown = [each for each in self.reductions if any(True for _ in each)][:_MAX_ROWS]
        steps = np.array(sorted({step for each in shown for step, _ in each}), dtype=np.int64)
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, _MAX_COLUMNS).astype(np.int64))]
        values = np.array(
            [[dict(each).get(step, np.nan) for step in steps.tolist()] for each in shown]
        )
        finite = values[np.isfinite(values)]
        above = finite[finite > 0]
        is_logarithmic = bool(len(above)) and bool((finite >= 0).all())
        scale = above if is_logarithmic else finite if len(finite) else np.zeros(1)
        remaining = len(self.reductions) - len(shown)
        return Heatmap(
            title=f"{self.reduction} over steps",
            coarsened=f"{pluralize(remaining, 'more tensor')} not shown." if remaining else "",
            rows=tuple(each.tensor for each in shown),
            x=tuple(steps.tolist()),
            x_title="Step",
            values=tuple(tuple(row.tolist()) for row in values),
            low=float(scale.min()),
            high=float(scale.max()),
            is_logarithmic=is_logarithmic and float(scale.min()) < float(scale.max()),
        )


def _described(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, ...]:
    finite = values[~np.isnan(values)]
    extremes = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    return float(values[0]), float(values[-1]), float(extremes[0]), float(extremes[1])
