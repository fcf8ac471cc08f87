"""Aligned columns of text."""

from collections.abc import Sequence

from rich.text import Text

from sonde.terminal.styles import QUIET


def table(
    rows: Sequence[Sequence[str]], left_columns: int, *, is_last_left: bool = False
) -> list[Text]:
    """Align columns: the first ones left, the others right. The first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            text.ljust(width)
            if index < left_columns or (is_last_left and index == len(row) - 1)
            else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(Text("  ".join(cells).rstrip(), "" if number else QUIET))
    return lines
