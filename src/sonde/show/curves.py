"""Scalars over steps as curves of few points."""

import numpy as np
import pyarrow as pa

from sonde.analyze.curves import Stretches, bucketed
from sonde.show.specs import Curve, LineChart
from sonde.store.tables import texts_of, to_numpy

POINTS = 300


def curves_over_steps(rows: pa.Table, title: str, unit: str = "") -> LineChart | None:
    """Every scalar and mode of a table as a curve over steps."""
    if not rows.num_rows:
        return None
    steps, values = to_numpy(rows["step"]), to_numpy(rows["value"])
    first, last = int(steps.min()), int(steps.max())
    edges = np.linspace(first, last + 1, min(POINTS, last - first + 1) + 1)
    modes, in_mode = texts_of(rows["mode"].dictionary_encode())
    names, named = texts_of(rows["name"].dictionary_encode())
    curves = []
    for name, of_name in sorted((name, place) for place, name in enumerate(names)):
        for mode, of_mode in sorted((mode, place) for place, mode in enumerate(modes)):
            mine = (named == of_name) & (in_mode == of_mode)
            if mine.any():
                curves.append(
                    _curve(name, mode, bucketed(steps[mine], values[mine], edges), len(modes))
                )
    return LineChart(
        title=title,
        x=tuple(np.ceil(edges[:-1]).tolist()),
        x_title="Step",
        unit=unit,
        curves=tuple(curves),
    )


def _curve(name: str, mode: str, found: Stretches, modes: int) -> Curve:
    has_band = bool((found.high > found.low).any())
    return Curve(
        label=f"{name} ({mode})" if modes > 1 else name,
        values=tuple(found.mean.tolist()),
        low=tuple(found.low.tolist()) if has_band else None,
        high=tuple(found.high.tolist()) if has_band else None,
        tone="eval" if mode == "eval" else "",
    )
