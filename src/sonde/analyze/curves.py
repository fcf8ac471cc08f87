"""Reduce curves to buckets of steps."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Buckets:
    """Mean, minimum and maximum of each bucket of steps; NaN for empty buckets."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def bucket_values(steps: IntArray, values: FloatArray, edges: FloatArray) -> Buckets:
    """Aggregate the finite values between each pair of edges."""
    count = len(edges) - 1
    is_finite = np.isfinite(values)
    indices = np.clip(np.searchsorted(edges, steps[is_finite], side="right") - 1, 0, count - 1)
    finite = values[is_finite]
    counts = np.bincount(indices, minlength=count)
    sums = np.bincount(indices, finite, minlength=count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, indices, finite)
    np.maximum.at(high, indices, finite)
    is_empty = counts == 0
    low[is_empty] = high[is_empty] = np.nan
    return Buckets(np.where(is_empty, np.nan, sums / np.maximum(counts, 1)), low, high)
