"""Carries finished frames to the backend, patiently.

A disk that is full, a folder that vanished, a server that does not answer: the frames wait in
memory and are tried again. Only when too much waits is the oldest given up, and that is said.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sonde.clock import Clock
from sonde.errors import KeyMissingError, StoreError
from sonde.guard import Guard
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import Backend
from sonde.store.layout import LIVE_SUFFIX, SegmentName

# 120 metrics at 500 ms make 1.8 bytes a point (benchmarks/writer.py): over two hours of patience.
WAITING_LIMIT_BYTES = 4 * 1024 * 1024
_LONGEST_PAUSE_SECONDS = 10.0
_SPACE_CHECK_SECONDS = 5.0

# Recording never takes the last of a disk: this much, or this share of a small disk, stays free.
_FREE_SPACE_BYTES = 200 * 1024 * 1024
_FREE_SPACE_SHARE = 0.02


@dataclass(slots=True)
class GrowingSegment:
    """A segment on its way: its key, the schema it starts with, how far it is written."""

    key: str
    schema: bytes
    written: int = 0
    first_ns: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Frames to append to a segment; what is lost, and from when to when, if they never arrive."""

    segment: GrowingSegment
    frames: bytes
    what: str
    start_ns: int
    end_ns: int


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
        self.trouble: str | None = None  # why the last attempt failed

    def post(self, chunk: Chunk) -> None:
        """Hands a chunk over; returns at once, whatever the backend is doing."""
        with self._lock:
            self._waiting.append(chunk)
            self._waiting_bytes += len(chunk.frames)
            given_up = self._give_up_oldest()
        for old in given_up:
            self._tell_lost(old)
        self._news.set()

    def start(self) -> None:
        """Begins to write in the background."""
        thread = threading.Thread(target=self._run, name="sonde-outbox", daemon=True)
        thread.start()
        self._thread = thread

    def close(self, timeout_seconds: float) -> None:
        """Writes what is left and ends; after the time-out what is left is given up."""
        self._is_closing = True
        self._news.set()
        if self._thread is None:
            self.write_waiting()
        else:
            self._thread.join(timeout_seconds)
        with self._lock:
            left = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
        for chunk in left:
            self._tell_lost(chunk)

    def write_waiting(self, *, leave_room: bool = True) -> bool:
        """Writes all that waits, oldest first; False once something could not be written."""
        with self._writing:
            while (chunk := self._oldest()) is not None:
                try:
                    if leave_room:
                        self._leave_room()
                    self._append(chunk)
                except StoreError as error:
                    self.trouble = str(error)
                    return False
                with self._lock:
                    if self._waiting and self._waiting[0] is chunk:
                        self._waiting.popleft()
                        self._waiting_bytes -= len(chunk.frames)
            self.trouble = None
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
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
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
            self._tell(chunk.what, str(error), segment.first_ns, chunk.start_ns)
            # under a new name, because readers trust that a segment never shrinks
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
                    f"The disk of {self._backend.uri} is full: {free >> 20} MiB free, "
                    f"and recording leaves {floor >> 20} MiB alone"
                )
        self._space_checked = self._clock.seconds()

    def _give_up_oldest(self) -> list[Chunk]:
        given_up = []
        # the first may be on its way to the backend just now, so the second oldest goes
        while self._waiting_bytes > self._limit_bytes and len(self._waiting) > 1:
            old = self._waiting[1]
            del self._waiting[1]
            self._waiting_bytes -= len(old.frames)
            given_up.append(old)
        return given_up

    def _tell_lost(self, chunk: Chunk) -> None:
        self._tell(chunk.what, self.trouble or "not written in time", chunk.start_ns, chunk.end_ns)

    def _tell(self, what: str, reason: str, start_ns: int, end_ns: int) -> None:
        self._on_lost(Notice(NoticeKind.LOST, what, reason, start_ns, end_ns))


def _successor(key: str, start_ns: int) -> str:
    """The key of the segment with which the same writer goes on."""
    folder, _, file = key.rpartition("/")
    before = SegmentName.parse(file.removesuffix(LIVE_SUFFIX))
    assert before is not None
    return f"{folder}/{SegmentName(start_ns, before.writer)}{LIVE_SUFFIX}"
