"""Whether the means of batches go up and down with the epoch, far more than chance allows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sonde.read.job_data import Reals

MOST_MEANS = 600

_LEAST = 40
_SHORTEST = 8  # batches: what comes again sooner is made so
_LONG = 30  # from here on order need not be the same batch by batch
_TIMES = 2.5  # epochs that have to be seen
_BEYOND_CHANCE = 3.0  # times the variance that shuffled batches have
_OF_ALL = 0.1  # of the variance of samples
_MUCH_OF_ALL = 0.25
_SLOWLY = 0.5  # of the variance is that from one batch to the next
_AGAIN = 0.6  # of what is not noise, an epoch later
_MORE_TIMES, _CLEARLY_AGAIN = 3.0, 0.8  # where it is not the same batch by batch
_BETWEEN = 0.2  # at most, somewhere on the way there
_AS_HIGH = 0.9  # of the most
_SAME = 0.8  # of the batches have the same mean as an epoch before
_SAME_WITHIN = 2e-3
_HAS_NO_ORDER_INSIDE = 0.5
_SORTED = 0.9  # of the changes go in one direction
_SEAMS = 3
_WHOLE = (
    60  # of the hundred batches that the hook takes together are of one shape: there is one loss
)
_JUMP = 5.0  # times the usual change from batch to batch
_JUMPING = 0.4  # of the seams: two losses in turn may have labels of one level


@dataclass(frozen=True, slots=True)
class Wave:
    """What comes again."""

    period: int  # batches
    times: float  # that it was seen
    variance: float  # between batches, beyond chance
    again: float  # the correlation with the period before, noise left out
    is_same: bool  # batch by batch
    one_way: float  # the share of changes that go in one direction


def wave_of(means: Sequence[float], chance: float) -> Wave | None:
    """The slow wave in a series, which shuffled batches do not have; None: it is too short for any.

    Args:
        means: Of one batch after the other.
        chance: The variance that means of shuffled batches have.
    """
    values = np.array(means, dtype=np.float64)
    if len(values) < _LEAST:
        return None
    changes = np.diff(values)
    variance, quick = float(values.var()), float(np.square(changes).mean()) / 2
    is_slow = variance > _BEYOND_CHANCE * chance and quick < _SLOWLY * variance
    if not is_slow:
        return Wave(0, 0.0, 0.0, 0.0, False, 0.0)
    period, again = _period(values, 1 - quick / variance)
    is_same = bool(period) and _share_of_same(values, period) >= _SAME
    moved = changes[changes != 0]
    one_way = float(max((moved > 0).mean(), (moved < 0).mean()))
    times = len(values) / period if period else 0.0
    return Wave(period, times, variance - chance, again, is_same, one_way)


def is_order(wave: Wave, within: float, rough: float) -> bool:
    """Whether a wave is that of samples in an order that nobody wants.

    Args:
        wave: What comes again.
        within: The variance inside of batches.
        rough: The variance from row to row inside of batches, of that inside of batches.
    """
    share = wave.variance / (wave.variance + within) if wave.variance else 0.0
    is_long = wave.period >= _LONG and wave.times >= _MORE_TIMES
    is_clear = is_long and share >= _MUCH_OF_ALL and wave.again >= _CLEARLY_AGAIN
    is_series = rough < _HAS_NO_ORDER_INSIDE and wave.one_way < _SORTED
    comes_again = wave.period >= _SHORTEST and wave.again >= _AGAIN
    return comes_again and share >= _OF_ALL and (wave.is_same or is_clear) and not is_series


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
    if len(starts) < _SEAMS or float(np.median(lengths)) >= _WHOLE:
        return False
    parts = [part for part in np.split(values, starts) if len(part) > 1]
    is_calm = float(np.mean([part.var() for part in parts])) <= _BEYOND_CHANCE * chance
    usual = float(np.sqrt(np.mean([np.square(np.diff(part)).mean() for part in parts])))
    jumps = np.abs(values[starts] - values[starts - 1])
    return is_calm and bool((jumps > _JUMP * usual).mean() >= _JUMPING)


def _period(values: Reals, signal: float) -> tuple[int, float]:
    """Where a series is most like itself again, and how much; 0: nowhere."""
    count = len(values)
    longest = int(count / _TIMES)
    centred = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    alike = np.fft.irfft(spectrum)[: longest + 1] / (count - np.arange(longest + 1))
    alike = alike / (alike[0] * signal)
    below = np.flatnonzero(alike < _BETWEEN)
    if not len(below):
        return 0, 0.0
    begin = max(_SHORTEST, int(below[0]))
    if begin > longest:
        return 0, 0.0
    # two epochs later it is as much like itself as one epoch later
    highest = float(alike[begin:].max())
    if highest <= 0:
        return 0, 0.0
    is_high = alike[begin:] >= _AS_HIGH * highest
    first = begin + int(np.argmax(is_high))
    beyond = np.flatnonzero(~is_high[first - begin :])
    last = first + int(beyond[0]) if len(beyond) else longest + 1
    period = first + int(np.argmax(alike[first:last]))
    return period, float(alike[period])


def _share_of_same(values: Reals, period: int) -> float:
    return float((np.abs(values[period:] - values[:-period]) <= _SAME_WITHIN).mean())
