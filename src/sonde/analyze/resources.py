"""How much of a machine was used: the whole of its devices, and how many of them had work."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray

BUSY_PERCENT = 5.0  # a device that is used less than that, on average, is taken to be idle
_PERCENTAGES = (0, 50, 90, 95, 99, 100)


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the values of a series lie; NaN where none is known."""

    count: int
    minimum: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float
    mean: float


def mean_of_devices(values: npt.NDArray[np.floating]) -> FloatArray:
    """The mean over devices at each tick, of values as (device, tick); NaN where none is known."""
    is_known = ~np.isnan(values)
    counts = is_known.sum(axis=0)
    sums = np.where(is_known, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def sum_of_devices(values: npt.NDArray[np.floating]) -> FloatArray:
    """The sum over devices at each tick; NaN where none is known."""
    is_known = ~np.isnan(values)
    sums = np.where(is_known, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(is_known.any(axis=0), sums, np.nan)


def spread_of(values: FloatArray) -> Spread:
    """Minimum, percentiles, maximum and mean, exact, of what is known."""
    valid = values[~np.isnan(values)]
    [numbers] = percentiles(values[None, :], _PERCENTAGES)
    mean = float(valid.mean()) if len(valid) else float("nan")
    minimum, p50, p90, p95, p99, maximum = (float(number) for number in numbers)
    return Spread(len(valid), minimum, p50, p90, p95, p99, maximum, mean)


def busy_devices(values: npt.NDArray[np.floating], value: float = BUSY_PERCENT) -> int:
    """How many devices were used at all, of values as (device, tick)."""
    is_known = ~np.isnan(values)
    sums, counts = np.where(is_known, values, 0.0).sum(axis=1), is_known.sum(axis=1)
    return int(np.count_nonzero(sums >= value * np.maximum(counts, 1)))
