"""The change of tensors between two inspections, computed from their statistics."""

import numpy as np

from sonde.records.arrays import FloatArray

# the columns of statistics that tell it, in this order
COLUMNS = ("count", "sum_of_squares", "sum", "sum_of_absolutes", "minimum", "maximum")
_SUMS = ("sum", "sum_of_absolutes")


def least_updates(before: FloatArray, after: FloatArray) -> FloatArray:
    """Lower bounds for the norms of the differences of two tensors each, from their statistics.

    Args:
        before: A row per tensor, with COLUMNS.
        after: Likewise, later.
    """
    roots = np.sqrt(np.maximum(before[:, 0], 1.0))
    where: FloatArray = np.abs(np.sqrt(after[:, 1]) - np.sqrt(before[:, 1]))
    for index in range(2, len(COLUMNS)):
        change = np.abs(after[:, index] - before[:, index])
        if COLUMNS[index] in _SUMS:
            change = change / roots
        where = np.where(change > where, change, where)
    return where
