"""Scalars over steps as curves with a limited number of points."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sonde.analyze.curves import Buckets, bucket_values
from sonde.records.chart import Curve, LineChart
from sonde.records.ranges import StepRange
from sonde.records.step import Mode
from sonde.store.tables import texts_of, to_numpy

POINTS = 300


def losses_over_steps(
    rows: pa.Table, title: str, evaluations: Sequence[Mapping[str, Any]]
) -> LineChart | None:
    """Training losses, and the result of every evaluation at its training step."""
    results_by_name: dict[str, list[tuple[int, float]]] = {}
    for evaluation in evaluations:
        if evaluation["loss"] is not None:
            results_by_name.setdefault(evaluation["name"], []).append(
                (evaluation["step"], evaluation["loss"])
            )
    trained = rows.filter(pc.not_equal(rows["mode"], Mode.EVAL.value))
    if not trained.num_rows:
        return curves_over_steps(rows, title)
    if results_by_name:  # evaluation batches are numbered separately
        rows = trained
    last = max((step for points in results_by_name.values() for step, _ in points), default=0)
    chart = curves_over_steps(rows, title, last=last)
    if chart is None or not results_by_name:
        return chart
    edges = np.append(np.array(chart.x), np.inf)
    results = []
    for name, points in results_by_name.items():
        steps, losses = (np.array(column) for column in zip(*points, strict=True))
        buckets = bucket_values(steps, losses, edges)
        tone = Mode.EVAL.value if len(results_by_name) == 1 else ""
        values = tuple(buckets.mean.tolist())
        results.append(Curve(label=name, values=values, tone=tone, has_markers=True))
    curves = (
        chart.curves
        if len(results_by_name) == 1
        else [replace(curve, tone="") for curve in chart.curves]
    )
    return replace(chart, curves=(*curves, *results))


def rows_within(rows: pa.Table, steps: StepRange) -> pa.Table:
    """The rows of a range of steps, of a table with the column `step`."""
    if steps.start is not None:
        rows = rows.filter(pc.greater_equal(rows["step"], steps.start))
    if steps.end is not None:
        rows = rows.filter(pc.less(rows["step"], steps.end))
    return rows


def curves_over_steps(
    rows: pa.Table, title: str, unit: str = "", last: int = 0
) -> LineChart | None:
    """A curve over steps for every scalar and mode.

    Args:
        rows: With `name`, `mode`, `step` and `value`.
        title: Of the chart.
        unit: Of the values.
        last: The axis includes this step.
    """
    if not rows.num_rows:
        return None
    steps, values = to_numpy(rows["step"]), to_numpy(rows["value"])
    first, last = int(steps.min()), max(last, int(steps.max()))
    edges = np.linspace(first, last + 1, min(POINTS, last - first + 1) + 1)
    modes, mode_numbers = texts_of(rows["mode"].dictionary_encode())
    names, name_numbers = texts_of(rows["name"].dictionary_encode())
    curves = []
    for name, name_number in sorted((name, index) for index, name in enumerate(names)):
        for mode, mode_number in sorted(zip(modes, range(len(modes)), strict=True), key=_order):
            is_selected = (name_numbers == name_number) & (mode_numbers == mode_number)
            if is_selected.any():
                curve = _curve(
                    name,
                    mode,
                    bucket_values(steps[is_selected], values[is_selected], edges),
                    len(modes),
                )
                curves.append(curve)
    if len(np.unique(name_numbers)) > 1:  # a color per scalar instead of per mode
        curves = [replace(curve, tone="") for curve in curves]
    return LineChart(
        title=title,
        x=tuple(np.ceil(edges[:-1]).tolist()),
        x_title="Step",
        unit=unit,
        curves=tuple(curves),
    )


def _curve(name: str, mode: str, buckets: Buckets, modes: int) -> Curve:
    has_band = bool((buckets.high > buckets.low).any())
    return Curve(
        label=f"{name} ({mode})" if modes > 1 else name,
        values=tuple(buckets.mean.tolist()),
        low=tuple(buckets.low.tolist()) if has_band else None,
        high=tuple(buckets.high.tolist()) if has_band else None,
        tone=mode,
    )


def _order(mode: tuple[str, int]) -> int:
    """Training first, then the other modes."""
    modes = [mode.value for mode in Mode]
    return modes.index(mode[0]) if mode[0] in modes else len(modes)
