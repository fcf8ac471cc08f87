"""Quantiles of values that are not stored, from a histogram accurate to 1%."""

from collections.abc import Mapping, MutableMapping

import numpy as np

from sonde.records.arrays import FloatArray

_RATIO = 1.02  # from one bin to the next: whoever gives its middle is off by a hundredth at most
_SMALLEST = 1e-9  # smaller values count as zero


def add_to_sketch(sketch: MutableMapping[str, int], values: FloatArray) -> None:
    """Counts some values that are not negative."""
    indices = np.zeros(len(values), dtype=np.int64)
    is_some = values > _SMALLEST
    indices[is_some] = 1 + np.floor(np.log(values[is_some] / _SMALLEST) / np.log(_RATIO))
    for index, count in zip(*np.unique(indices, return_counts=True), strict=True):
        key = str(int(index))
        sketch[key] = sketch.get(key, 0) + int(count)


def sketch_quantiles(sketch: Mapping[str, int], percents: tuple[float, ...]) -> list[float]:
    """Percentiles of all values counted so far."""
    indices = np.array(sorted(map(int, sketch)))
    counts = np.cumsum([sketch[str(index)] for index in indices])
    ranks = np.array(percents) / 100 * (counts[-1] - 1)
    result = indices[np.searchsorted(counts, ranks, side="right")]
    middles = _SMALLEST * _RATIO ** (result - 0.5)
    return [float(item) for item in np.where(result == 0, 0.0, middles)]
