"""Curves made of characters, one per value."""

from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_GAP = " "


def levels(values: Sequence[float | None], most: float) -> str:
    """One character per value, from 0 to the most; a gap where it is unknown."""
    return "".join(_level(value, most) for value in values)


def _level(value: float | None, most: float) -> str:
    if value is None:
        return _GAP
    share = min(max(value / most, 0.0), 1.0) if most > 0 else 0.0
    return _LEVELS[min(int(share * len(_LEVELS)), len(_LEVELS) - 1)]
