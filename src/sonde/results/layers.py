"""A reduction of many tensors over steps, to find the layer that differs."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.formats import pluralize
from sonde.records.chart import Heatmap, Spec
from sonde.results.series import Reduction
from sonde.results.tables import Frame, aligned
from sonde.store.tables import repeated

_MOST_LINES = 40
_MOST_ROWS = 60
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class Layers(Frame):
    """The same reduction of several tensors; of replicas, the first worker's."""

    reduction: str
    parts: tuple[Reduction, ...]

    def __len__(self) -> int:
        return len(self.parts)

    def to_arrow(self) -> pa.Table:
        """One row per tensor, worker and step."""
        tables = [
            rows.add_column(0, "tensor", repeated(one.tensor, rows.num_rows))
            for one in self.parts
            if (rows := one.to_arrow()).num_rows
        ]
        return pa.concat_tables(tables) if tables else pa.table({})

    def __repr__(self) -> str:
        known = [(one.tensor, np.array([value for _, value in one])) for one in self.parts]
        rows = [
            (name, str(len(values)), *(f"{number:.4g}" for number in _described(values)))
            for name, values in known
            if len(values)
        ]
        if not rows:
            return f"No {self.reduction} of a matching tensor recorded"
        titles = (f"{self.reduction} of", "steps", "first", "last", "minimum", "maximum")
        more = f"\n… and {len(rows) - _MOST_LINES} more" if len(rows) > _MOST_LINES else ""
        return aligned([titles, *rows[:_MOST_LINES]], left=1) + more

    def _picture(self) -> Spec:
        """A row per tensor, a column per step; logarithmic if all values are positive or zero."""
        shown = [one for one in self.parts if any(True for _ in one)][:_MOST_ROWS]
        steps = np.array(sorted({step for one in shown for step, _ in one}), dtype=np.int64)
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, _MOST_COLUMNS).astype(np.int64))]
        values = np.array(
            [[dict(one).get(step, np.nan) for step in steps.tolist()] for one in shown]
        )
        finite = values[np.isfinite(values)]
        above = finite[finite > 0]
        is_logarithmic = bool(len(above)) and bool((finite >= 0).all())
        scale = above if is_logarithmic else finite if len(finite) else np.zeros(1)
        left = len(self.parts) - len(shown)
        return Heatmap(
            title=f"{self.reduction} over steps",
            coarsened=f"{pluralize(left, 'more tensor')} not shown." if left else "",
            rows=tuple(one.tensor for one in shown),
            x=tuple(steps.tolist()),
            x_title="Step",
            values=tuple(tuple(row.tolist()) for row in values),
            low=float(scale.min()),
            high=float(scale.max()),
            is_logarithmic=is_logarithmic and float(scale.min()) < float(scale.max()),
        )


def _described(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, ...]:
    known = values[~np.isnan(values)]
    extremes = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
    return float(values[0]), float(values[-1]), float(extremes[0]), float(extremes[1])
