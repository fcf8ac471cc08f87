"""Show the live view of a job until it ends or the user quits."""

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator

from rich.console import Group
from rich.live import Live

from sonde.clock import Clock
from sonde.drawing.printable import writing
from sonde.results.live import JobNow
from sonde.terminal.output import console_for_output
from sonde.terminal.watch import frame

_POLL_SECONDS = 1.0
_REACT_SECONDS = 0.2  # maximum reaction time to keys and resizing


def show_until_over(poll: Callable[[], JobNow], clock: Clock, every_seconds: float) -> JobNow:
    """Redraw what `poll` returns; return the last value.

    Uses the alternate screen of the terminal, which restores the previous content at the end.
    """
    console = console_for_output()
    now = poll()
    with (
        writing(),
        _keys() as pressed,
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        due = 0.0
        size = None
        while not now.is_over:
            if clock.seconds() >= due:
                now = poll()
                due = clock.seconds() + max(_POLL_SECONDS, every_seconds)
                size = None
            if console.size != size:
                size = console.size
                live.update(Group(*frame(now, size.width, size.height)), refresh=True)
            if pressed(_REACT_SECONDS):
                break
    return now


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits for the quit key; restore the terminal mode on exit."""
    stdin = sys.stdin
    if stdin is None or not stdin.isatty():
        yield lambda seconds: bool(select.select([], [], [], seconds)[0])
        return
    before = termios.tcgetattr(stdin)
    try:
        tty.setcbreak(stdin)
        yield _is_leaving
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def _is_leaving(seconds: float) -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    if not ready:
        return False
    typed = os.read(sys.stdin.fileno(), 64)
    # an empty read is the end of input: the terminal is gone
    return not typed or typed[:1] in (b"q", b"Q") or typed in (b"\x1b", b"\x04")
