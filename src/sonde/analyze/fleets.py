"""Compare many nodes on one time grid, outliers first."""

import numpy as np
import numpy.typing as npt

from sonde.analyze.resources import mean_of_devices
from sonde.records.arrays import FloatArray, IntArray


def on_grid(starts_ns: IntArray, values: npt.NDArray[np.floating], grid_ns: IntArray) -> FloatArray:
    """The mean over devices, of values as (device, bucket), in each cell of a grid.

    A cell without a bucket that begins in it has the value of the bucket that it lies in.
    """
    total = mean_of_devices(values)
    count = len(grid_ns) - 1
    if not len(starts_ns):
        return np.full(count, np.nan)
    is_known = ~np.isnan(total)
    indices = np.searchsorted(grid_ns, starts_ns, side="right") - 1
    inside = is_known & (indices >= 0) & (indices < count)
    counts = np.bincount(indices[inside], minlength=count)
    sums = np.bincount(indices[inside], total[inside], minlength=count)
    before = np.searchsorted(starts_ns, grid_ns[:-1], side="right") - 1
    width = int(np.diff(starts_ns).min()) if len(starts_ns) > 1 else 0
    held = np.where(before >= 0, total[np.maximum(before, 0)], np.nan)
    is_near = (before >= 0) & (grid_ns[:-1] - starts_ns[np.maximum(before, 0)] < width)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.where(is_near, held, np.nan))


def unlike_first(values: FloatArray) -> IntArray:
    """The order of rows, of values as (node, cell): those furthest from the median first."""
    is_known = ~np.isnan(values)
    columns = is_known.any(axis=0)
    typical = np.full(values.shape[1], np.nan)
    if columns.any():
        typical[columns] = np.nanmedian(values[:, columns], axis=0)
    apart = np.abs(values - typical)
    counts = (~np.isnan(apart)).sum(axis=1)
    sums = np.where(np.isnan(apart), 0.0, apart).sum(axis=1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)
    return np.argsort(-means, kind="stable").astype(np.int64)
