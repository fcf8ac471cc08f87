"""Whether the means of batches go up and down with the epoch, far more than chance allows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for batch means that repeat with the epoch.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_means: int = 600  # remembered
    min_means: int = 40
    min_period_batches: int = 8  # shorter periods are made on purpose
    long_period_batches: int = 30  # from which on batches need not repeat exactly
    min_epochs: float = 2.5
    variance_factor: float = 3.0  # of shuffled batches
    min_variance_share: float = 0.1  # of the variance of samples
    clear_variance_share: float = 0.25  # likewise, if batches do not repeat exactly
    slow_share: float = 0.5  # of the variance, at most, from one batch to the next
    min_correlation: float = 0.6  # with the epoch before, noise removed
    clear_epochs: float = 3.0  # if batches do not repeat exactly
    clear_correlation: float = 0.8  # likewise
    dip_correlation: float = 0.2  # at most, somewhere within the period
    peak_share: float = 0.9  # of the highest correlation
    same_share: float = 0.8  # of batches whose mean repeats exactly
    same_tolerance: float = 2e-3
    max_roughness: float = 0.5  # row to row within a batch; below it, samples are a time series
    sorted_share: float = 0.9  # of changes in one direction
    min_seams: int = 3  # between groups of batches
    whole_group_batches: int = 60  # of the 100 that the hook groups: one loss only
    jump_factor: float = 5.0  # of the usual change between batches
    jumping_share: float = 0.4  # of the seams: two alternating losses may have labels of one level


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class Wave:
    """What comes again."""

    period: int  # batches
    times: float  # that it was seen
    variance: float  # between batches, beyond chance
    correlation: float  # the correlation with the period before, noise left out
    is_same: bool  # batch by batch
    one_way: float  # the share of changes that go in one direction


def wave_of(means: Sequence[float], chance: float) -> Wave | None:
    """The slow wave in a series, which shuffled batches do not have; None: it is too short for any.

    Args:
        means: Of one batch after the other.
        chance: The variance that means of shuffled batches have.
    """
    values = np.array(means, dtype=np.float64)
    if len(values) < LIMITS.min_means:
        return None
    changes = np.diff(values)
    variance, quick = float(values.var()), float(np.square(changes).mean()) / 2
    is_slow = variance > LIMITS.variance_factor * chance and quick < LIMITS.slow_share * variance
    if not is_slow:
        return Wave(0, 0.0, 0.0, 0.0, False, 0.0)
    period, repeated = _period(values, 1 - quick / variance)
    is_same = bool(period) and _share_of_same(values, period) >= LIMITS.same_share
    moved = changes[changes != 0]
    one_way = float(max((moved > 0).mean(), (moved < 0).mean()))
    times = len(values) / period if period else 0.0
    return Wave(period, times, variance - chance, repeated, is_same, one_way)


def is_order(wave: Wave, within: float, rough: float) -> bool:
    """Whether a wave is that of samples in an unwanted order.

    Args:
        wave: What comes again.
        within: The variance inside of batches.
        rough: The variance from row to row inside of batches, of that inside of batches.
    """
    share = wave.variance / (wave.variance + within) if wave.variance else 0.0
    is_long = wave.period >= LIMITS.long_period_batches and wave.times >= LIMITS.clear_epochs
    is_clear = (
        is_long
        and share >= LIMITS.clear_variance_share
        and wave.correlation >= LIMITS.clear_correlation
    )
    is_series = rough < LIMITS.max_roughness and wave.one_way < LIMITS.sorted_share
    comes_again = (
        wave.period >= LIMITS.min_period_batches and wave.correlation >= LIMITS.min_correlation
    )
    return (
        comes_again
        and share >= LIMITS.min_variance_share
        and (wave.is_same or is_clear)
        and not is_series
    )


def is_patchwork(means: Sequence[float], lengths: Sequence[int], chance: float) -> bool:
    """Whether it is of several series in turn: each stretch as calm as chance, and jumps between.

    Args:
        means: Of one batch after the other; the first ones may be missing.
        lengths: How many came together, of one shape.
        chance: The variance that means of shuffled batches have.
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
    """Where a series is most like itself again, and how much; 0: nowhere."""
    count = len(values)
    longest = int(count / LIMITS.min_epochs)
    centred = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    similarity = np.fft.irfft(spectrum)[: longest + 1] / (count - np.arange(longest + 1))
    similarity = similarity / (similarity[0] * signal)
    below = np.flatnonzero(similarity < LIMITS.dip_correlation)
    if not len(below):
        return 0, 0.0
    begin = max(LIMITS.min_period_batches, int(below[0]))
    if begin > longest:
        return 0, 0.0
    # two epochs later it is as much like itself as one epoch later
    highest = float(similarity[begin:].max())
    if highest <= 0:
        return 0, 0.0
    is_high = similarity[begin:] >= LIMITS.peak_share * highest
    first = begin + int(np.argmax(is_high))
    beyond = np.flatnonzero(~is_high[first - begin :])
    last = first + int(beyond[0]) if len(beyond) else longest + 1
    period = first + int(np.argmax(similarity[first:last]))
    return period, float(similarity[period])


def _share_of_same(values: FloatArray, period: int) -> float:
    return float((np.abs(values[period:] - values[:-period]) <= LIMITS.same_tolerance).mean())
