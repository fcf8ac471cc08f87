"""Resource usage of a machine: totals and distribution over its devices."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.percentiles import percentiles
from sonde.records.arrays import FloatArray

BUSY_GPU_PERCENT = 10.0  # on all screens, GPUs with a lower utilization count as idle
_PERCENTAGES = (0, 50, 90, 95, 99, 100)


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a series; NaN if no value is known."""

    count: int
    minimum: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float
    mean: float


def mean_of_devices(values: npt.NDArray[np.floating]) -> FloatArray:
    """Return the mean over devices at each tick; NaN if no value is known.

    Args:
        values: As (device, tick).
    """
    is_known = ~np.isnan(values)
    counts = is_known.sum(axis=0)
    sums = np.where(is_known, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def mean_of_samples(*values: npt.NDArray[np.floating]) -> float:
    """Return the mean of all known samples; NaN if no value is known.

    The mean utilization of a node, a device or a job: every sample counts the same. Of a metric
    that was recorded for the node as a whole, such as the CPU, only that series counts; else the
    series of all devices.
    """
    sums = [float(np.nansum(part, dtype=np.float64)) for part in values]
    counts = [int(np.count_nonzero(~np.isnan(part))) for part in values]
    return sum(sums) / sum(counts) if sum(counts) else float("nan")


def sum_of_devices(values: npt.NDArray[np.floating]) -> FloatArray:
    """Return the sum over devices at each tick; NaN if no value is known."""
    is_known = ~np.isnan(values)
    sums = np.where(is_known, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(is_known.any(axis=0), sums, np.nan)


def spread_of(values: FloatArray) -> Spread:
    """Return exact minimum, percentiles, maximum and mean of the known values."""
    known = values[~np.isnan(values)]
    [numbers] = percentiles(values[None, :], _PERCENTAGES)
    minimum, p50, p90, p95, p99, maximum = (float(number) for number in numbers)
    return Spread(len(known), minimum, p50, p90, p95, p99, maximum, mean_of_samples(known))


def count_busy_devices(values: npt.NDArray[np.floating], min_mean: float = BUSY_GPU_PERCENT) -> int:
    """Return the number of devices whose mean reaches a minimum, of values as (device, tick)."""
    is_known = ~np.isnan(values)
    sums, counts = np.where(is_known, values, 0.0).sum(axis=1), is_known.sum(axis=1)
    return int(np.count_nonzero(sums >= min_mean * np.maximum(counts, 1)))
