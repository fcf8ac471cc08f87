"""Find gaps between samples whose interval changes, and fill what is not a gap.

The interval of a job can be changed while it runs, and some metrics are read less often than
others. So the usual distance is that of the samples nearby, before or after, not that of the job.
"""

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import BoolArray, IntArray

_GAP = 3.0  # times the usual distance between samples
_NEARBY = 5  # distances on each side whose median is the usual one

Floats = npt.NDArray[np.float32]


def gaps_between(times_ns: IntArray, interval_ns: int) -> BoolArray:
    """Whether there is a gap after each sample but the last.

    Args:
        times_ns: Of the samples, ascending.
        interval_ns: The current sampling interval: after it has grown, the last samples are
            further apart than all samples before them.
    """
    distances = np.diff(times_ns)
    if not len(distances):
        return np.zeros(0, dtype=np.bool_)
    before = np.concatenate([np.repeat(distances[:1], _NEARBY), distances[:-1]])
    after = np.concatenate([distances[1:], np.repeat(max(interval_ns, 1), _NEARBY)])
    usual = np.maximum(_medians(before), _medians(after))
    return np.asarray(distances > _GAP * usual)


def fill_between(values: Floats, times_ns: IntArray, interval_ns: int) -> Floats:
    """Fill positions between two samples that are not a gap with the sample before them.

    Args:
        values: As (series, position); NaN without a sample.
        times_ns: Of the positions, ascending.
        interval_ns: The current sampling interval.
    """
    is_known = ~np.isnan(values)
    if is_known.all():
        return values
    filled = values.copy()
    patterns, numbers = np.unique(is_known, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        known = np.flatnonzero(pattern)
        if len(known) < 2:
            continue
        preceding = np.searchsorted(known, np.arange(len(pattern))) - 1
        is_inside = (preceding >= 0) & (preceding < len(known) - 1) & ~pattern
        is_gap = gaps_between(times_ns[known], interval_ns)
        is_inside[is_inside] = ~is_gap[preceding[is_inside]]
        rows = np.flatnonzero(numbers.reshape(-1) == number)
        targets = np.flatnonzero(is_inside)
        filled[np.ix_(rows, targets)] = values[np.ix_(rows, known[preceding[targets]])]
    return filled


def _medians(distances: IntArray) -> npt.NDArray[np.float64]:
    windows = np.lib.stride_tricks.sliding_window_view(distances, _NEARBY)
    return np.asarray(np.median(windows, axis=1))
