"""The change of tensors between two inspections, computed from their statistics."""

import numpy as np

from sonde.records.arrays import FloatArray

# the statistics to compare, in this order
COLUMNS = ("count", "sum_of_squares", "sum", "sum_of_absolutes", "minimum", "maximum")
_SUMS = ("sum", "sum_of_absolutes")


def min_update_norms(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return lower bounds for the norms of tensor changes, from statistics before and after.

    Args:
        before: One row per tensor, with COLUMNS.
        after: The same tensors at the later inspection.
    """
    roots = np.sqrt(np.maximum(before[:, 0], 1.0))
    bounds: FloatArray = np.abs(np.sqrt(after[:, 1]) - np.sqrt(before[:, 1]))
    for index in range(2, len(COLUMNS)):
        change = np.abs(after[:, index] - before[:, index])
        if COLUMNS[index] in _SUMS:
            change = change / roots
        bounds = np.where(change > bounds, change, bounds)
    return bounds
