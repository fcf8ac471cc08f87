"""The only module that reads the time.

Instants are nanoseconds since the Unix epoch, read from a monotonic clock anchored once to the wall
clock. Adjusting the wall clock while a job runs never makes durations negative, and all processes
of a node that share the anchor share one timeline.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

NANOSECONDS = 1_000_000_000

# CLOCK_BOOTTIME includes suspended time, so instants stay correct after a laptop wakes up
_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """A source of time; tests use a fake clock."""

    anchor_ns: int  # the wall clock minus the monotonic clock
    monotonic_ns: Callable[[], int]  # `now_ns` minus the anchor, without a Python frame

    def now_ns(self) -> int:
        """Return the current time on the job's timeline, in nanoseconds since the epoch."""

    def seconds(self) -> float:
        """Return monotonic seconds for durations and schedules."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, up to a number of seconds; return whether it was set."""


class SystemClock:
    """The machine's clocks; the wall clock is read once."""

    def __init__(self, anchor_ns: int | None = None) -> None:
        self.anchor_ns = wall_offset_ns() if anchor_ns is None else anchor_ns
        self.monotonic_ns: Callable[[], int] = partial(time.clock_gettime_ns, _MONOTONIC)

    def now_ns(self) -> int:
        """Return the current time: the monotonic clock plus the anchor."""
        return time.clock_gettime_ns(_MONOTONIC) + self.anchor_ns

    def seconds(self) -> float:
        """Return monotonic seconds."""
        return time.clock_gettime(_MONOTONIC)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, up to a number of seconds; return whether it was set."""
        return event.wait(seconds)

    def wall_ns(self) -> int:
        """Return the current wall clock time, including adjustments."""
        return time.time_ns()

    def jump_seconds(self) -> float:
        """Return how far the wall clock has been adjusted since the anchor was taken."""
        return (wall_offset_ns() - self.anchor_ns) / NANOSECONDS


def wall_offset_ns() -> int:
    """Return the difference between the wall clock and the monotonic clock."""
    return time.time_ns() - time.clock_gettime_ns(_MONOTONIC)


ticks_ns = time.perf_counter_ns  # the cheapest clock to read
# CPU time of the calling thread: the cost of a hook, independent of other load on the machine
thread_cpu_ns = time.thread_time_ns


def thread_cpu_seconds() -> float:
    """Return the CPU time of the calling thread."""
    return time.thread_time()


def process_cpu_seconds() -> float:
    """Return the CPU time of this process."""
    return time.process_time()


def iso(instant_ns: int) -> str:
    """Format an instant in ISO 8601: UTC with microseconds."""
    seconds, rest = divmod(instant_ns, NANOSECONDS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso(text: str) -> int:
    """Parse an ISO 8601 text; UTC if it has no time zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime.fromtimestamp(0, UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return microseconds * 1000


def local_stamp(instant_ns: int) -> str:
    """Format the local time for a job name: sortable, without characters that need quoting."""
    return (
        datetime.fromtimestamp(instant_ns // NANOSECONDS, UTC)
        .astimezone()
        .strftime("%Y%m%d-%H%M%S")
    )
