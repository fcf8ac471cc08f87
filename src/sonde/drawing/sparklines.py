"""Sparklines: one character per value."""

from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_GAP = " "


def levels(values: Sequence[float | None], maximum: float) -> str:
    """A sparkline from 0 to `maximum`; unknown values are spaces."""
    return "".join(_level(value, maximum) for value in values)


def _level(value: float | None, maximum: float) -> str:
    if value is None:
        return _GAP
    share = min(max(value / maximum, 0.0), 1.0) if maximum > 0 else 0.0
    return _LEVELS[min(int(share * len(_LEVELS)), len(_LEVELS) - 1)]
