"""Quantiles of values that nobody keeps: counts of how many fell where, to within a hundredth."""

from collections.abc import Mapping, MutableMapping

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

_RATIO = 1.02  # from one bin to the next: whoever gives its middle is off by a hundredth at most
_SMALLEST = 1e-9  # below is nought


def add_to_sketch(sketch: MutableMapping[str, int], values: Reals) -> None:
    """Counts some values that are not negative."""
    places = np.zeros(len(values), dtype=np.int64)
    is_some = values > _SMALLEST
    places[is_some] = 1 + np.floor(np.log(values[is_some] / _SMALLEST) / np.log(_RATIO))
    for place, count in zip(*np.unique(places, return_counts=True), strict=True):
        key = str(int(place))
        sketch[key] = sketch.get(key, 0) + int(count)


def sketch_quantiles(sketch: Mapping[str, int], percents: tuple[float, ...]) -> list[float]:
    """Percentiles of all values counted so far."""
    places = np.array(sorted(map(int, sketch)))
    counts = np.cumsum([sketch[str(place)] for place in places])
    wanted = np.array(percents) / 100 * (counts[-1] - 1)
    found = places[np.searchsorted(counts, wanted, side="right")]
    middles = _SMALLEST * _RATIO ** (found - 0.5)
    return [float(one) for one in np.where(found == 0, 0.0, middles)]
