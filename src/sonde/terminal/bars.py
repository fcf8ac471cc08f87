"""Bars and sparklines made of characters. Bars range from 0% to 100%."""

from collections.abc import Sequence

from rich.text import Text

from sonde.drawing.sparklines import levels

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TRACK = "░"
_OTHERS = "▒"


def bar(value: float | None, width: int, style: str) -> Text:
    """A bar for a percentage; empty if it is unknown."""
    if width <= 0:
        return Text()
    share = 0.0 if value is None else min(max(value, 0.0), 100.0) / 100
    eighths = round(share * width * 8)
    if share > 0 and eighths == 0:
        eighths = 1  # a small share is not zero
    full_cells, rest = divmod(eighths, 8)
    filled = _EIGHTHS[8] * full_cells + (_EIGHTHS[rest] if rest else "")
    return Text.assemble((filled, style), (_TRACK * (width - len(filled)), "dim"))


def stacked_bar(part: float | None, value: float | None, width: int, style: str) -> Text:
    """A bar for a percentage, of which a part is the job's: `███▒▒▒░░`."""
    total = bar(value, width, style)
    if not part or not value or width <= 0:
        return total
    filled = total.plain.rstrip(_TRACK)
    cells = min(len(filled), max(1, round(len(filled) * min(part / value, 1.0))))
    rest = width - len(filled)
    others = _OTHERS * (len(filled) - cells)
    return Text.assemble((_EIGHTHS[8] * cells, style), (others, "dim"), (_TRACK * rest, "dim"))


def sparkline(values: Sequence[float | None], style: str, maximum: float = 100.0) -> Text:
    """One character per value, scaled from 0 to the maximum; blank if unknown."""
    return Text(levels(values, maximum), style)
