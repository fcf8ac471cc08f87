"""CPU time limits in processes that Sonde owns."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sonde.formats import format_duration


class TooSlowError(Exception):
    """A block exceeded its CPU time limit."""


@contextmanager
def cpu_time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in the block once it has used that much CPU time.

    Works only in the main thread of a process, and not nested.
    """

    def too_slow(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"exceeded the limit of {format_duration(seconds)} per window")

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
