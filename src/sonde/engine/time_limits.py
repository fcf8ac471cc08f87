"""Ends what takes too long, in processes of ours that nobody else shares."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlowError(Exception):
    """Something took more CPU time than it may."""


@contextmanager
def cpu_time_limit(seconds: float) -> Iterator[None]:
    """Raises inside of the block once this process has spent so much CPU time in it.

    Only the main thread of a process may do this, and only one at a time.
    """

    def too_slow(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"a rule may take {seconds:g} s for one window")

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
