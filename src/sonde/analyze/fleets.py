"""Compare many nodes on a common time grid."""

import numpy as np
import numpy.typing as npt

from sonde.analyze.resources import mean_of_devices
from sonde.records.arrays import FloatArray, IntArray


def on_grid(starts_ns: IntArray, values: npt.NDArray[np.floating], grid_ns: IntArray) -> FloatArray:
    """Return the mean over devices in each cell of a grid, from values as (device, bucket).

    A cell in which no bucket starts gets the value of the bucket around it.
    """
    means = mean_of_devices(values)
    count = len(grid_ns) - 1
    if not len(starts_ns):
        return np.full(count, np.nan)
    is_known = ~np.isnan(means)
    indices = np.searchsorted(grid_ns, starts_ns, side="right") - 1
    is_inside = is_known & (indices >= 0) & (indices < count)
    counts = np.bincount(indices[is_inside], minlength=count)
    sums = np.bincount(indices[is_inside], means[is_inside], minlength=count)
    before = np.searchsorted(starts_ns, grid_ns[:-1], side="right") - 1
    width = int(np.diff(starts_ns).min()) if len(starts_ns) > 1 else 0
    previous = np.where(before >= 0, means[np.maximum(before, 0)], np.nan)
    is_near = (before >= 0) & (grid_ns[:-1] - starts_ns[np.maximum(before, 0)] < width)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.where(is_near, previous, np.nan))


def order_by_deviation(values: FloatArray) -> IntArray:
    """Return the order of rows of (node, cell) by their distance from the median, furthest first.

    Rows without values come last.
    """
    is_known = ~np.isnan(values)
    columns = is_known.any(axis=0)
    typical = np.full(values.shape[1], np.nan)
    if columns.any():
        typical[columns] = np.nanmedian(values[:, columns], axis=0)
    distance = np.abs(values - typical)
    counts = (~np.isnan(distance)).sum(axis=1)
    sums = np.where(np.isnan(distance), 0.0, distance).sum(axis=1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)
    return np.argsort(-means, kind="stable").astype(np.int64)
