"""Predicted speed-ups of training, from the time that a remedy saves."""

from sonde.records.advice import Basis, Gain

_MAX_SHARE = 0.98  # of the time; a prediction beyond a speed-up of 50 means nothing


def speedup(total_seconds: float, saved_seconds: float) -> float:
    """Training speed without some of its time, as a multiple of the current one."""
    if total_seconds <= 0:
        return 1.0
    share = min(max(saved_seconds / total_seconds, 0.0), _MAX_SHARE)
    return 1 / (1 - share)


def gain_from(
    total_seconds: float,
    saved_seconds: tuple[float, float, float],
    basis: Basis,
    reason: str,
) -> Gain:
    """The gain of a remedy that saves time.

    Args:
        total_seconds: The time now.
        saved_seconds: At least, expected, and at most.
        basis: How the saved time was predicted.
        reason: The same as a sentence.
    """
    low, expected, high = (speedup(total_seconds, saved) for saved in sorted(saved_seconds))
    return Gain(expected, low, high, basis, reason)


def rarer(total_seconds: float, spent_seconds: float, factor: float, reason: str) -> Gain:
    """The gain of doing something `factor` times as rarely; its cost was measured."""
    saved = spent_seconds * (1 - 1 / factor)
    return gain_from(total_seconds, (saved, saved, saved), Basis.MEASURED, reason)


def upper_bound(total_seconds: float, saved_seconds: float, reason: str) -> Gain:
    """The gain of a change that saves none to all of some measured time; half is expected."""
    return gain_from(total_seconds, (0.0, saved_seconds / 2, saved_seconds), Basis.MODELED, reason)
