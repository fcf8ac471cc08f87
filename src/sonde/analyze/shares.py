"""Bounds of a share or a mean that is estimated from samples in a row.

Neighboring samples of a machine resemble each other, so they count less than independent ones.
"""

import math

from sonde.records.arrays import FloatArray

_BATCH_EXPONENT = 0.6  # batches must be longer than the phases of the job, and many


def effective_count(values: FloatArray) -> float:
    """Return how many independent samples are worth as much as these (method of batch means)."""
    count = len(values)
    size = round(math.pow(count, _BATCH_EXPONENT))
    variance = float(values.var()) if count else 0.0
    if count < 2 * size or size < 2 or variance <= 0.0:
        return float(count)
    batches = values[: count // size * size].reshape(-1, size).mean(axis=1)
    return float(count / max(1.0, size * float(batches.var(ddof=1)) / variance))


def share_bounds(share: float, count: float, z: float) -> tuple[float, float]:
    """Return the Wilson score interval of a share among independent samples.

    Args:
        share: The observed share, between 0 and 1.
        count: The number of independent samples.
        z: The half width in standard deviations; 2 covers 95% of cases.
    """
    if count <= 0:
        return 0.0, 1.0
    weight = z * z / count
    center = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / count + weight / (4 * count))
    return max(0.0, center - half), min(1.0, center + half)


def mean_error(values: FloatArray) -> float:
    """Return the standard error of the mean of samples in a row; infinite without samples."""
    if not len(values):
        return math.inf
    return float(values.std()) / math.sqrt(max(1.0, effective_count(values)))
