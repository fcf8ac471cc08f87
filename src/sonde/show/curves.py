"""Scalars over steps as curves of few points."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sonde.analyze.curves import Stretches, bucketed
from sonde.records.step import Mode
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
        for mode, of_mode in sorted(zip(modes, range(len(modes)), strict=True), key=_order):
            mine = (named == of_name) & (in_mode == of_mode)
            if mine.any():
                curve = _curve(name, mode, bucketed(steps[mine], values[mine], edges), len(modes))
                curves.append(curve)
    if len(np.unique(named)) > 1:  # each has a color of its own
        curves = [replace(curve, tone="") for curve in curves]
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
        tone=mode,
    )


def _order(mode: tuple[str, int]) -> int:
    """Training before what it is compared with."""
    known = [one.value for one in Mode]
    return known.index(mode[0]) if mode[0] in known else len(known)
