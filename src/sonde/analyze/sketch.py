"""Quantiles of values that are not stored, from a histogram accurate to 1%."""

from collections.abc import Mapping, MutableMapping

import numpy as np

from sonde.records.arrays import FloatArray

_RATIO = 1.02  # between neighboring bins: the center of a bin has an error of up to 1%
_SMALLEST = 1e-9  # smaller values count as zero


def add_to_sketch(sketch: MutableMapping[str, int], values: FloatArray) -> None:
    """Count non-negative values."""
    indices = np.zeros(len(values), dtype=np.int64)
    is_positive = values > _SMALLEST
    logs = np.log(values[is_positive] / _SMALLEST)
    indices[is_positive] = 1 + np.floor(logs / np.log(_RATIO))
    for index, count in zip(*np.unique(indices, return_counts=True), strict=True):
        key = str(int(index))
        sketch[key] = sketch.get(key, 0) + int(count)


def sketch_quantiles(sketch: Mapping[str, int], percents: tuple[float, ...]) -> list[float]:
    """Return percentiles of all values counted so far."""
    indices = np.array(sorted(map(int, sketch)))
    counts = np.cumsum([sketch[str(index)] for index in indices])
    ranks = np.array(percents) / 100 * (counts[-1] - 1)
    bins = indices[np.searchsorted(counts, ranks, side="right")]
    centers = _SMALLEST * _RATIO ** (bins - 0.5)
    return [float(value) for value in np.where(bins == 0, 0.0, centers)]
