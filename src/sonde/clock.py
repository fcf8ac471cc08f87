"""The only reader of time.

Instants are nanoseconds since the Unix epoch, read from a monotonic clock anchored once to the wall
clock: a wall clock that is set back or forward while a job runs never makes durations negative, and
all processes of one node that share the anchor share one time line.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Protocol

NANOSECONDS = 1_000_000_000

# Counts on while a laptop sleeps, so instants stay true after it wakes; not every system has it.
_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What a part needs to know about time; tests hand in one they move by hand."""

    def now_ns(self) -> int:
        """The present instant on the job's time line, in nanoseconds since the epoch."""

    def seconds(self) -> float:
        """A monotonic reading for durations and schedules."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits until the event is set (True) or the time has passed (False)."""


class SystemClock:
    """The machine's clocks, with the wall clock read once."""

    def __init__(self, anchor_ns: int | None = None) -> None:
        self.anchor_ns = wall_offset_ns() if anchor_ns is None else anchor_ns

    def now_ns(self) -> int:
        """The present instant: the monotonic clock moved by the anchor."""
        return time.clock_gettime_ns(_MONOTONIC) + self.anchor_ns

    def seconds(self) -> float:
        """A monotonic reading."""
        return time.clock_gettime(_MONOTONIC)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits on the event for at most that long."""
        return event.wait(seconds)

    def wall_ns(self) -> int:
        """The wall clock at this moment, wherever it was moved since."""
        return time.time_ns()

    def jump_seconds(self) -> float:
        """How far the wall clock was moved since the anchor was taken."""
        return (wall_offset_ns() - self.anchor_ns) / NANOSECONDS


def wall_offset_ns() -> int:
    """What has to be added to the monotonic clock to get the wall clock of this moment."""
    return time.time_ns() - time.clock_gettime_ns(_MONOTONIC)


ticks_ns = time.perf_counter_ns  # the cheapest reading there is
# CPU time of the calling thread: what a hook costs, also on a machine that is busy with others
thread_cpu_ns = time.thread_time_ns


def thread_cpu_seconds() -> float:
    """CPU time of the calling thread: what a part of ours costs."""
    return time.thread_time()


def process_cpu_seconds() -> float:
    """CPU time of this whole process."""
    return time.process_time()


def iso(instant_ns: int) -> str:
    """An instant as people and JSON write it: UTC with microseconds."""
    whole, rest = divmod(instant_ns, NANOSECONDS)
    moment = datetime.fromtimestamp(whole, UTC).replace(microsecond=rest // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso(text: str) -> int:
    """The instant that an ISO 8601 text names; without a zone it is taken as UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime.fromtimestamp(0, UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return microseconds * 1000


def local_stamp(instant_ns: int) -> str:
    """The local time as it appears in the name of a job: sorts, and needs no quoting."""
    return (
        datetime.fromtimestamp(instant_ns // NANOSECONDS, UTC)
        .astimezone()
        .strftime("%Y%m%d-%H%M%S")
    )
