"""The only module that reads the time.

Instants are nanoseconds since the Unix epoch, read from a monotonic clock anchored once to the wall
clock. Adjusting the wall clock while a job runs never makes durations negative, and all processes
of a node that share the anchor share one timeline.
"""

import threading
import time
from datetime import UTC, datetime
from typing import Protocol

NANOSECONDS = 1_000_000_000

# Counts on while a laptop sleeps, so instants stay true after it wakes; not every system has it.
_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """A source of time; tests use one that they advance themselves."""

    def now_ns(self) -> int:
        """The current time on the job's timeline, in nanoseconds since the epoch."""

    def seconds(self) -> float:
        """Monotonic seconds for durations and schedules."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set (True) or the time has passed (False)."""


class SystemClock:
    """The machine's clocks; the wall clock is read once."""

    def __init__(self, anchor_ns: int | None = None) -> None:
        self.anchor_ns = wall_offset_ns() if anchor_ns is None else anchor_ns

    def now_ns(self) -> int:
        """The current time: the monotonic clock plus the anchor."""
        return time.clock_gettime_ns(_MONOTONIC) + self.anchor_ns

    def seconds(self) -> float:
        """Monotonic seconds."""
        return time.clock_gettime(_MONOTONIC)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, up to a number of seconds."""
        return event.wait(seconds)

    def wall_ns(self) -> int:
        """The current wall clock time, including adjustments."""
        return time.time_ns()

    def jump_seconds(self) -> float:
        """How far the wall clock has been adjusted since the anchor was taken."""
        return (wall_offset_ns() - self.anchor_ns) / NANOSECONDS


def wall_offset_ns() -> int:
    """The difference between the wall clock and the monotonic clock."""
    return time.time_ns() - time.clock_gettime_ns(_MONOTONIC)


ticks_ns = time.perf_counter_ns  # the cheapest clock to read
# CPU time of the calling thread: what a hook costs, also on a machine that is busy with others
thread_cpu_ns = time.thread_time_ns


def thread_cpu_seconds() -> float:
    """CPU time of the calling thread."""
    return time.thread_time()


def process_cpu_seconds() -> float:
    """CPU time of this process."""
    return time.process_time()


def iso(instant_ns: int) -> str:
    """An instant in ISO 8601: UTC with microseconds."""
    seconds, rest = divmod(instant_ns, NANOSECONDS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso(text: str) -> int:
    """The instant of an ISO 8601 text; UTC if it has no time zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime.fromtimestamp(0, UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return microseconds * 1000


def local_stamp(instant_ns: int) -> str:
    """The local time for the name of a job: sortable, without characters that need quoting."""
    return (
        datetime.fromtimestamp(instant_ns // NANOSECONDS, UTC)
        .astimezone()
        .strftime("%Y%m%d-%H%M%S")
    )
