"""Values over steps in few stretches: the mean of each, and what it ranges over."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Stretches:
    """Values over steps in few stretches: mean, least and most of each; NaN where none is known."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def bucketed(steps: IntArray, values: FloatArray, edges: FloatArray) -> Stretches:
    """The values of each stretch between edges, what is not finite left out."""
    count = len(edges) - 1
    finite = np.isfinite(values)
    indices = np.clip(np.searchsorted(edges, steps[finite], side="right") - 1, 0, count - 1)
    valid = values[finite]
    counts = np.bincount(indices, minlength=count)
    sums = np.bincount(indices, valid, minlength=count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, indices, valid)
    np.maximum.at(high, indices, valid)
    empty = counts == 0
    low[empty] = high[empty] = np.nan
    return Stretches(np.where(empty, np.nan, sums / np.maximum(counts, 1)), low, high)
