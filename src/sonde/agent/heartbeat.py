"""Heartbeats of a recording: that it is alive, its sampling, its overhead, and clock changes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonde.agent.documents import AttemptDocuments
from sonde.clock import SystemClock
from sonde.formats import format_duration
from sonde.records.job import Heartbeat, Overhead
from sonde.records.notice import NoticeKind
from sonde.store.writer import Writer

if TYPE_CHECKING:
    from sonde.agent.sampler import Sampler

_INTERVAL_SECONDS = 5.0
_CLOCK_JUMP_SECONDS = 1.0


class HeartbeatWriter:
    """Writes the heartbeat document of an attempt.

    Args:
        documents: Where the heartbeat is written.
        writer: Records a notice when the wall clock is changed.
        clock: The time.
        flush_seconds: How often the store is written; heartbeats are not more frequent.
        cpu_seconds: Returns the CPU time of the recording so far.
    """

    def __init__(
        self,
        documents: AttemptDocuments,
        writer: Writer,
        clock: SystemClock,
        flush_seconds: float,
        cpu_seconds: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._writer = writer
        self._clock = clock
        self.interval_seconds = max(_INTERVAL_SECONDS, flush_seconds)
        self._cpu_seconds = cpu_seconds
        self._started_seconds = clock.seconds()
        self._jump_seconds = 0.0
        self.sampler: Sampler | None = None

    @property
    def elapsed_seconds(self) -> float:
        """Time since the recording was created."""
        return self._clock.seconds() - self._started_seconds

    def write(self) -> None:
        """Write a heartbeat."""
        sampler = self.sampler
        heartbeat = Heartbeat(
            time_ns=self._clock.now_ns(),
            wall_ns=self._clock.wall_ns(),
            every_seconds=self.interval_seconds,
            interval_seconds=sampler.interval_seconds if sampler else None,
            is_monitoring=sampler.is_monitoring if sampler else None,
            overhead=self.overhead(),
        )
        self._documents.write("heartbeat", heartbeat)

    def overhead(self) -> Overhead:
        """Return the cost of the recording so far."""
        return Overhead(
            cpu_seconds=self._cpu_seconds(),
            bytes_written=self._writer.outbox.bytes_written,
            wall_seconds=self.elapsed_seconds,
        )

    def check_clock(self) -> None:
        """Record a notice if the wall clock was changed."""
        jump = self._clock.jump_seconds()
        if abs(jump - self._jump_seconds) < _CLOCK_JUMP_SECONDS:
            return
        change = jump - self._jump_seconds
        self._jump_seconds = jump
        direction = "forward" if change > 0 else "back"
        self._writer.notice(
            NoticeKind.CLOCK_JUMPED,
            "wall clock",
            f"set {direction} by {format_duration(abs(change))}; recorded times are not affected",
        )
