"""Losses of several runs on one axis: by step, by time, or by samples seen."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sonde.errors import UsageError, known_names
from sonde.records.arrays import FloatArray
from sonde.records.chart import LineChart
from sonde.results.charts import lines
from sonde.results.run_record import RunRecord, Series

Axis = Literal["step", "time", "samples"]
AXES: tuple[str, ...] = get_args(Axis)

_POINTS = 400
_TITLES = {
    "step": ("Step", ""),
    "time": ("Time since the first step", "seconds"),
    "samples": ("Samples", ""),
}


def aligned_losses(
    runs: Sequence[RunRecord], by: str = "step", smoothing: float = 0.0
) -> LineChart | None:
    """The training loss of each run; None if no run has one.

    Args:
        runs: The runs, the baseline first.
        by: The axis: `step`, `time` since the first step, or `samples` seen by all workers.
        smoothing: Weight of the previous values in a moving average, from 0 to below 1.
    """
    if by not in AXES:
        raise UsageError(f"Unknown axis {by!r}.{known_names(by, AXES)}")
    if not 0 <= smoothing < 1:
        raise UsageError(f"smoothing must be at least 0 and below 1, not {smoothing:g}")
    curves, missing = {}, []
    for run in runs:
        if run.loss is None or not len(run.loss.steps):
            continue
        x = _positions(run, run.loss, by)
        if x is None:
            missing.append(run.name)
        else:
            curves[run.name] = (x, smoothed(run.loss.values, smoothing))
    if not curves and not missing:
        return None
    if by != "step":
        end = max((float(x[-1]) for x, _ in curves.values()), default=0.0)
        curves = {name: _resampled(*curve, end) for name, curve in curves.items()}
    title, unit = _TITLES[by]
    names = ", ".join(missing)
    note = f"Without the batch size of {names}, its samples are unknown." if missing else ""
    return lines(curves, "Training loss", x_title=title, x_unit=unit, coarsened=note)


def smoothed(values: FloatArray, weight: float) -> FloatArray:
    """An exponential moving average that starts unbiased and skips undefined values."""
    if not weight:
        return values
    result = np.full(len(values), np.nan)
    total = share = 0.0
    for index, value in enumerate(values.tolist()):
        if np.isfinite(value):
            total = weight * total + (1 - weight) * value
            share = weight * share + (1 - weight)
            result[index] = total / share
    return result


def _positions(run: RunRecord, loss: Series, by: str) -> FloatArray | None:
    if by == "step":
        return loss.steps.astype(np.float64)
    if by == "time":
        return loss.seconds
    if run.samples_per_step is None:
        return None
    samples: FloatArray = (loss.steps - loss.steps[0] + 1) * run.samples_per_step
    return samples


def _resampled(x: FloatArray, values: FloatArray, end: float) -> tuple[FloatArray, FloatArray]:
    """Values at positions that all runs share; undefined outside of the run."""
    grid = np.linspace(0.0, end, _POINTS)
    is_known = np.isfinite(values)
    if not is_known.any():
        return grid, np.full(_POINTS, np.nan)
    return grid, np.interp(grid, x[is_known], values[is_known], left=np.nan, right=np.nan)
