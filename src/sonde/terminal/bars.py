"""Bars and small curves made of characters; a percent bar always goes from 0 to 100."""

from collections.abc import Sequence

from rich.text import Text

from sonde.drawing.sparklines import levels

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TRACK = "░"


def bar(value: float | None, width: int, style: str) -> Text:
    """A share of 100 as a bar; an unknown share is an empty track."""
    if width <= 0:
        return Text()
    share = 0.0 if value is None else min(max(value, 0.0), 100.0) / 100
    eighths = round(share * width * 8)
    if share > 0 and eighths == 0:
        eighths = 1  # a little is not nothing
    whole, rest = divmod(eighths, 8)
    filled = _EIGHTHS[8] * whole + (_EIGHTHS[rest] if rest else "")
    return Text.assemble((filled, style), (_TRACK * (width - len(filled)), "dim"))


def sparkline(values: Sequence[float | None], style: str, most: float = 100.0) -> Text:
    """One character per value, from 0 to the most; nothing is drawn where it is unknown."""
    return Text(levels(values, most), style)
