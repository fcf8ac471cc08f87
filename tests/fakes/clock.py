"""A clock that is moved by hand."""

import threading

from sonde.clock import NANOSECONDS

START_NS = 1_700_000_000 * NANOSECONDS


class FakeClock:
    """A clock that only moves when it is advanced or waited for."""

    def __init__(self, start_ns: int = START_NS) -> None:
        self._now_ns = start_ns
        self._start_ns = start_ns
        self.anchor_ns = 0
        self.monotonic_ns = self.now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def seconds(self) -> float:
        return (self._now_ns - self._start_ns) / NANOSECONDS

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if event.is_set():
            return True
        self.advance(seconds)
        return False

    def advance(self, seconds: float) -> None:
        self._now_ns += round(seconds * NANOSECONDS)
