"""Detect batch means that repeat with the epoch, which shuffled data does not show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for batch means that repeat with the epoch.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_means: int = 600  # stored
    min_means: int = 40
    min_period_batches: int = 8  # shorter periods are made on purpose
    long_period_batches: int = 30  # with at least this period, batches need not repeat exactly
    min_epochs: float = 2.5
    variance_factor: float = 3.0  # of shuffled batches
    min_variance_share: float = 0.1  # of the variance of samples
    clear_variance_share: float = 0.25  # likewise, if batches do not repeat exactly
    slow_share: float = 0.5  # of the variance: maximum from one batch to the next
    min_correlation: float = 0.6  # with the previous epoch, noise removed
    clear_epochs: float = 3.0  # if batches do not repeat exactly
    clear_correlation: float = 0.8  # likewise
    dip_correlation: float = 0.2  # the correlation falls below this within the period
    peak_share: float = 0.9  # of the highest correlation
    same_share: float = 0.8  # of batches whose mean repeats exactly
    same_tolerance: float = 2e-3
    max_roughness: float = 0.5  # row to row within a batch; below it, samples are a time series
    sorted_share: float = 0.9  # of changes in one direction
    min_seams: int = 3  # between groups of batches
    whole_group_batches: int = 60  # of the 100 that the hook groups: one loss only
    jump_factor: float = 5.0  # of the typical change between batches
    jumping_share: float = 0.4  # of the seams: labels of two losses may have the same level


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class BatchCycle:
    """A slow change of batch means and its period."""

    period: int  # in batches; 0 if the means do not repeat
    times: float  # number of periods in the series
    variance: float  # between batches, minus that of shuffled batches
    correlation: float  # with the previous period, noise removed
    is_same: bool  # whether batch means repeat exactly
    one_way: float  # share of changes in the more frequent direction


def find_cycle(means: Sequence[float], chance: float) -> BatchCycle | None:
    """Find a slow repeating change of batch means; None if the series is too short.

    Args:
        means: The means of consecutive batches.
        chance: The variance of the means of shuffled batches.
    """
    values = np.array(means, dtype=np.float64)
    if len(values) < LIMITS.min_means:
        return None
    changes = np.diff(values)
    variance, noise = float(values.var()), float(np.square(changes).mean()) / 2
    is_slow = variance > LIMITS.variance_factor * chance and noise < LIMITS.slow_share * variance
    if not is_slow:
        return BatchCycle(0, 0.0, 0.0, 0.0, False, 0.0)
    period, correlation = _period(values, 1 - noise / variance)
    is_same = bool(period) and _repeating_share(values, period) >= LIMITS.same_share
    nonzero = changes[changes != 0]
    one_way = float(max((nonzero > 0).mean(), (nonzero < 0).mean()))
    times = len(values) / period if period else 0.0
    return BatchCycle(period, times, variance - chance, correlation, is_same, one_way)


def is_unwanted_order(cycle: BatchCycle, within: float, roughness: float) -> bool:
    """Whether a cycle shows that samples are not shuffled.

    Args:
        cycle: The cycle of the batch means.
        within: The variance within batches.
        roughness: The variance from row to row, as a share of the variance within batches.
    """
    share = cycle.variance / (cycle.variance + within) if cycle.variance else 0.0
    is_long = cycle.period >= LIMITS.long_period_batches and cycle.times >= LIMITS.clear_epochs
    is_clear = (
        is_long
        and share >= LIMITS.clear_variance_share
        and cycle.correlation >= LIMITS.clear_correlation
    )
    is_time_series = roughness < LIMITS.max_roughness and cycle.one_way < LIMITS.sorted_share
    is_repeating = (
        cycle.period >= LIMITS.min_period_batches and cycle.correlation >= LIMITS.min_correlation
    )
    return (
        is_repeating
        and share >= LIMITS.min_variance_share
        and (cycle.is_same or is_clear)
        and not is_time_series
    )


def alternates_series(means: Sequence[float], lengths: Sequence[int], chance: float) -> bool:
    """Whether batch means alternate between several series, such as the labels of two losses.

    Then each group of batches varies as little as shuffled batches, with jumps between groups.

    Args:
        means: The means of consecutive batches; the first ones may be missing.
        lengths: The number of batches of each group, which have the same shape.
        chance: The variance of the means of shuffled batches.
    """
    values = np.array(means, dtype=np.float64)
    starts = len(values) - np.cumsum(np.array(lengths[::-1], dtype=np.int64))
    starts = starts[starts > 0][::-1]
    if len(starts) < LIMITS.min_seams or float(np.median(lengths)) >= LIMITS.whole_group_batches:
        return False
    groups = [group for group in np.split(values, starts) if len(group) > 1]
    is_calm = float(np.mean([group.var() for group in groups])) <= LIMITS.variance_factor * chance
    typical = float(np.sqrt(np.mean([np.square(np.diff(group)).mean() for group in groups])))
    jumps = np.abs(values[starts] - values[starts - 1])
    return is_calm and bool((jumps > LIMITS.jump_factor * typical).mean() >= LIMITS.jumping_share)


def _period(values: FloatArray, signal: float) -> tuple[int, float]:
    """Return the period of a series and its autocorrelation there; 0 if there is none."""
    count = len(values)
    longest = int(count / LIMITS.min_epochs)
    centered = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centered, 2 * count)) ** 2
    correlation = np.fft.irfft(spectrum)[: longest + 1] / (count - np.arange(longest + 1))
    correlation = correlation / (correlation[0] * signal)
    below = np.flatnonzero(correlation < LIMITS.dip_correlation)
    if not len(below):
        return 0, 0.0
    begin = max(LIMITS.min_period_batches, int(below[0]))
    if begin > longest:
        return 0, 0.0
    # multiples of the period correlate as much as the period itself: take the first high peak
    highest = float(correlation[begin:].max())
    if highest <= 0:
        return 0, 0.0
    is_high = correlation[begin:] >= LIMITS.peak_share * highest
    first = begin + int(np.argmax(is_high))
    beyond = np.flatnonzero(~is_high[first - begin :])
    last = first + int(beyond[0]) if len(beyond) else longest + 1
    period = first + int(np.argmax(correlation[first:last]))
    return period, float(correlation[period])


def _repeating_share(values: FloatArray, period: int) -> float:
    return float((np.abs(values[period:] - values[:-period]) <= LIMITS.same_tolerance).mean())
