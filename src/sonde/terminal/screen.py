"""Shows a job in the terminal until it is over or somebody leaves."""

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
from sonde.terminal.text import console_for_output
from sonde.terminal.watch import frame

_LOOK_SECONDS = 1.0
_REACT_SECONDS = 0.2  # how long a key or a new window size may wait


def show_until_over(look: Callable[[], JobNow], clock: Clock, every_seconds: float) -> JobNow:
    """Draws what `look` sees, again and again; returns the last of it.

    Drawing is on the terminal's second screen: what was there before comes back at the end.
    """
    console = console_for_output()
    now = look()
    with (
        writing(),
        _keys() as pressed,
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        due = 0.0
        size = None
        while not now.is_over:
            if clock.seconds() >= due:
                now = look()
                due = clock.seconds() + max(_LOOK_SECONDS, every_seconds)
                size = None
            if console.size != size:
                size = console.size
                live.update(Group(*frame(now, size.width, size.height)), refresh=True)
            if pressed(_REACT_SECONDS):
                break
    return now


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Gives keys as they are pressed; Ctrl-C stays a signal, and the terminal is left as found."""
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
    # an empty read is the end of input: nobody is there to press q, and nobody needs to
    return not typed or typed[:1] in (b"q", b"Q") or typed in (b"\x1b", b"\x04")
