"""Write finished frames to the backend, with retries.

If a disk is full, a folder is missing or a server does not respond, frames are queued in memory
and retried. When the queue exceeds its limit, the oldest frames are dropped and reported as lost.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.formats import format_bytes
from sonde.guard import Guard
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import Backend
from sonde.store.layout import LIVE_SUFFIX, SegmentName

# 120 metrics at 500 ms take 1.8 bytes per value (benchmarks/writer.py): enough for two hours.
WAITING_LIMIT_BYTES = 4 * 1024 * 1024
_MAX_PAUSE_SECONDS = 10.0
_SPACE_CHECK_SECONDS = 5.0

# Recording stops when less than this, or this share of a small disk, is free.
_FREE_SPACE_BYTES = 200 * 1024 * 1024
_FREE_SPACE_SHARE = 0.02


@dataclass(slots=True)
class GrowingSegment:
    """A segment being written: its key, its schema frame, and the bytes written."""

    key: str
    schema: bytes
    written: int = 0
    first_ns: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Frames to append to a segment, with their content and time range for loss reports."""

    segment: GrowingSegment
    frames: bytes
    what: str
    start_ns: int
    end_ns: int
    loss_kind: NoticeKind = NoticeKind.LOST


class Outbox:
    """A queue of chunks and the thread that writes them."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        on_lost: Callable[[Notice], None],
        limit_bytes: int = WAITING_LIMIT_BYTES,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._on_lost = on_lost
        self._limit_bytes = limit_bytes
        self._waiting: deque[Chunk] = deque()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._news = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._space_checked = float("-inf")
        self.bytes_written = 0
        self.last_error: str | None = None  # error of the last attempt

    def post(self, chunk: Chunk) -> None:
        """Queue a chunk without blocking."""
        with self._lock:
            self._waiting.append(chunk)
            self._waiting_bytes += len(chunk.frames)
            dropped = self._give_up_oldest()
        for old in dropped:
            self._report_lost_chunk(old)
        self._news.set()

    def start(self) -> None:
        """Start writing in the background."""
        thread = threading.Thread(target=self._run, name="sonde-outbox", daemon=True)
        thread.start()
        self._thread = thread

    def close(self, timeout_seconds: float) -> None:
        """Write the queue and stop; after the timeout, remaining chunks are lost."""
        self._is_closing = True
        self._news.set()
        if self._thread is None:
            self.write_waiting()
        else:
            self._thread.join(timeout_seconds)
        with self._lock:
            unwritten = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
        for chunk in unwritten:
            self._report_lost_chunk(chunk)

    def write_waiting(self, *, leave_room: bool = True) -> bool:
        """Write the queue, oldest first; return False if a write fails."""
        with self._writing:
            while (chunk := self._oldest()) is not None:
                try:
                    if leave_room:
                        self._leave_room()
                    self._append(chunk)
                except StoreError as error:
                    self.last_error = str(error)
                    return False
                with self._lock:
                    if self._waiting and self._waiting[0] is chunk:
                        self._waiting.popleft()
                        self._waiting_bytes -= len(chunk.frames)
            self.last_error = None
            return True

    def _oldest(self) -> Chunk | None:
        with self._lock:
            return self._waiting[0] if self._waiting else None

    def _run(self) -> None:
        pause = 1.0
        guard = Guard()
        while True:
            self._news.wait()
            self._news.clear()
            is_written = guard.attempt("the outbox", self.write_waiting, default=False)
            if self._is_closing and (is_written or not self._waiting):
                return
            if not is_written:
                self._news.wait(0.1 if self._is_closing else pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
                self._news.set()
            else:
                pause = 1.0

    def _append(self, chunk: Chunk) -> None:
        segment = chunk.segment
        data = chunk.frames if segment.written else segment.schema + chunk.frames
        try:
            self._backend.append(segment.key, segment.written, data)
        except KeyMissingError as error:
            if segment.written == 0:
                raise
            span_ns = segment.first_ns, chunk.start_ns
            self._on_lost(Notice(chunk.loss_kind, chunk.what, str(error), *span_ns))
            # under a new name, because readers assume that segments never shrink
            segment.key, segment.written = _successor(segment.key, chunk.start_ns), 0
            data = segment.schema + chunk.frames
            self._backend.append(segment.key, 0, data)
        if segment.written == 0:
            segment.first_ns = chunk.start_ns
        segment.written += len(data)
        self.bytes_written += len(data)

    def _leave_room(self) -> None:
        if self._clock.seconds() - self._space_checked < _SPACE_CHECK_SECONDS:
            return
        free, size = self._backend.free_bytes(), self._backend.size_bytes()
        if free is not None and size is not None:
            floor = min(_FREE_SPACE_BYTES, int(size * _FREE_SPACE_SHARE))
            if free < floor:
                raise StoreError(
                    f"The disk of {self._backend.uri} is almost full: {format_bytes(free)} free, "
                    f"recording needs more than {format_bytes(floor)}"
                )
        self._space_checked = self._clock.seconds()

    def _give_up_oldest(self) -> list[Chunk]:
        dropped = []
        # the first may be in transfer, so the second oldest is dropped
        while self._waiting_bytes > self._limit_bytes and len(self._waiting) > 1:
            old = self._waiting[1]
            del self._waiting[1]
            self._waiting_bytes -= len(old.frames)
            dropped.append(old)
        return dropped

    def _report_lost_chunk(self, chunk: Chunk) -> None:
        reason = self.last_error or "not written in time"
        self._on_lost(Notice(chunk.loss_kind, chunk.what, reason, chunk.start_ns, chunk.end_ns))


def _successor(key: str, start_ns: int) -> str:
    """The key of the writer's next segment."""
    folder, _, file = key.rpartition("/")
    before = SegmentName.parse(file.removesuffix(LIVE_SUFFIX))
    assert before is not None
    return f"{folder}/{SegmentName(start_ns, before.writer)}{LIVE_SUFFIX}"
