"""The headline of a job as columns of text: title, value and note of each figure."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from sonde.drawing.sparklines import levels
from sonde.results.headline import Figure
from sonde.terminal.output import wrapped
from sonde.terminal.styles import QUIET

_COLUMN = 24
_MIN_COLUMN = 16
_GAP = 2
_CURVE = 10
_NOTE_LINES = 2
_DEFAULT_WIDTH = 100  # in a pipe
_TONES = {"good": "green", "warning": "yellow", "critical": "red"}


def headline_lines(figures: Sequence[Figure], width: int | None = None) -> list[Text]:
    """As many figures next to each other as fit, in rows of equal length."""
    if not figures:
        return []
    width = width or _DEFAULT_WIDTH
    most = max(1, (width + _GAP) // (_MIN_COLUMN + _GAP))
    rows = -(-len(figures) // most)
    count = -(-len(figures) // rows)
    column = max(1, min(_COLUMN, (width + _GAP) // count - _GAP))
    lines: list[Text] = []
    for start in range(0, len(figures), count):
        lines += _row(figures[start : start + count], column)
    return lines


def _row(figures: Sequence[Figure], column: int) -> Iterator[Text]:
    tiles = [_tile(figure, column) for figure in figures]
    for number in range(max(map(len, tiles))):
        line = Text()
        for tile in tiles:
            cell = tile[number].copy() if number < len(tile) else Text()
            cell.truncate(column, overflow="ellipsis", pad=True)
            line.append(cell).append(" " * _GAP)
        line.rstrip()
        yield line


def _tile(figure: Figure, column: int) -> list[Text]:
    style = _TONES.get(figure.tone, "")
    value = Text(figure.text, f"bold {style}".strip())
    curve = _curve(figure.curve)
    if curve and value.cell_len + 1 + len(curve) <= column:
        value.append(" ").append(curve, style or "cyan")
    notes = wrapped(Text(figure.note, style or QUIET), column)[:_NOTE_LINES]
    return [Text(figure.title, QUIET), value, *notes]


def _curve(values: Sequence[float | None]) -> str:
    """The last values, scaled from the smallest to the largest."""
    shown = values[-_CURVE:] if len(values) <= _CURVE else values[:: -(-len(values) // _CURVE)]
    known = [value for value in shown if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(known), max(known)
    return levels([None if value is None else value - low for value in shown], high - low)
