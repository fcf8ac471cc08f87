"""Print lines that are readable in a terminal and in a pipe.

Styles are attributes of the text: a pipe, or NO_COLOR, gets the text alone.
"""

import re
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from itertools import accumulate

from rich.cells import cell_len
from rich.console import Console
from rich.text import Span, Text

from sonde.drawing.printable import is_visible, readable_pieces, writing

_MAX_INDENT = 24


def print_lines(lines: Iterable[Text]) -> None:
    """Print lines on standard output; on a terminal, with colors and wrapped at words."""
    console = console_for_output()
    with writing():
        for line in map(readable, lines):
            for wrapped_line in wrapped(line, console.width) if console.is_terminal else [line]:
                console.print(wrapped_line)


def readable(line: Text) -> Text:
    """Escape control characters, so that recorded text cannot control the terminal."""
    if is_visible(line.plain):
        return line
    pieces = readable_pieces(line.plain)
    offsets = list(accumulate(map(len, pieces), initial=0))
    last = len(pieces)
    spans = [
        Span(offsets[span.start], offsets[min(span.end, last)], span.style) for span in line.spans
    ]
    return Text("".join(pieces), line.style, spans=spans)


def wrapped(line: Text, width: int) -> list[Text]:
    """Wrap a line at words and indent the rest to the start of its text.

    Words longer than a line are not split, so that they can be copied.
    """
    if line.cell_len <= width:
        return [line]
    label = re.match(r"\s*\S+(?: \S+)*? {2,}|\s*", line.plain)
    indent = cell_len(label[0]) if label else 0
    indent = indent if indent <= min(_MAX_INDENT, width // 2) else 0
    cuts, used = [], 0
    for word in re.finditer(r"\s*\S+\s*", line.plain):
        if used > indent and used + cell_len(word[0].rstrip()) > width:
            cuts.append(word.start())
            used = indent
        used += cell_len(word[0])
    first, *rest = line.divide(cuts)
    wrapped_lines = [first, *(Text(" " * indent) + piece for piece in rest)]
    for piece in wrapped_lines:
        piece.rstrip()
    return wrapped_lines


def width_of_output() -> int | None:
    """The width of the terminal; None if the output is not a terminal."""
    console = console_for_output()
    return console.width if console.is_terminal else None


def console_for_output() -> Console:
    """Standard output; characters that its encoding lacks become question marks."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return _Console(file=sys.stdout, highlight=False, soft_wrap=True)


class _Console(Console):
    """Leaves the handling of closed pipes to the command line."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
