"""The outbox: retries failed writes and reports lost data."""

import threading
import uuid

import pytest

from sonde.errors import StoreError
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import open_backend
from sonde.store.backends.memory import Memory
from sonde.store.outbox import Chunk, GrowingSegment, Outbox
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually

KEY = "nodes/a/system/00000000000000000010-abcd.frames"
SCHEMA = b"schema;"


class FickleStore(Memory):
    """A store that can be full or slow."""

    def __init__(self) -> None:
        super().__init__(f"memory://{uuid.uuid4().hex}")
        self.is_full = False
        self.free: int | None = None
        self.size: int | None = None
        self.asked = 0
        self.arrived = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def append(self, key: str, offset: int, data: bytes) -> None:
        self.arrived.set()
        self.gate.wait(60)
        if self.is_full:
            raise StoreError("Cannot write: no space left on device")
        super().append(key, offset, data)

    def free_bytes(self) -> int | None:
        self.asked += 1
        return self.free

    def size_bytes(self) -> int | None:
        return self.size


class Case:
    """An outbox on a fickle store, and the losses it reported."""

    def __init__(self, limit_bytes: int = 1000) -> None:
        self.store = FickleStore()
        self.clock = FakeClock()
        self.lost: list[Notice] = []
        self.outbox = Outbox(self.store, self.clock, self.lost.append, limit_bytes)
        self.segment = GrowingSegment(KEY, SCHEMA)

    def post(self, *numbers: int) -> None:
        for number in numbers:
            frames = b"%d;" % number
            self.outbox.post(Chunk(self.segment, frames, "samples", number, number))

    def error(self) -> str | None:
        return self.outbox.last_error

    def gaps(self) -> list[tuple[int, int]]:
        return [(notice.start_ns, notice.end_ns) for notice in self.lost]


def test_after_a_full_disk_all_chunks_are_written_in_order() -> None:
    case = Case()
    case.store.is_full = True
    case.post(1, 2)
    assert not case.outbox.write_waiting()
    assert case.error() == "Cannot write: no space left on device"

    case.store.is_full = False
    case.post(3)

    assert case.outbox.write_waiting()
    assert case.store.read(KEY) == b"schema;1;2;3;"
    assert case.error() is None
    assert case.lost == []


def test_over_its_limit_the_second_oldest_chunk_is_dropped_and_reported() -> None:
    case = Case(limit_bytes=6)
    case.store.is_full = True
    case.post(1)
    assert not case.outbox.write_waiting()

    case.post(2, 3, 4)

    case.store.is_full = False
    case.outbox.write_waiting()
    assert case.store.read(KEY) == b"schema;1;3;4;"
    assert case.gaps() == [(2, 2)]
    assert case.lost[0].reason == "Cannot write: no space left on device"


def test_a_deleted_segment_continues_under_a_new_name_and_the_loss_is_reported() -> None:
    case = Case()
    case.post(20)
    case.outbox.write_waiting()
    case.store.delete([KEY])

    case.post(30, 40)
    case.outbox.write_waiting()

    (entry,) = case.store.entries("")
    assert entry.key == "nodes/a/system/00000000000000000030-abcd.frames"
    assert case.store.read(entry.key) == b"schema;30;40;"
    assert [(notice.kind, notice.what) for notice in case.lost] == [(NoticeKind.LOST, "samples")]
    assert case.gaps() == [(20, 30)]
    assert "no longer exists" in case.lost[0].reason


def test_some_disk_space_is_left_free() -> None:
    case = Case()
    case.store.size, case.store.free = 100 << 20, 1 << 20
    case.post(1)

    assert not case.outbox.write_waiting()

    assert "is almost full: 1.05 MB free, recording needs more than 2.1 MB" in str(case.error())
    case.store.free = 50 << 20
    assert case.outbox.write_waiting()


def test_a_large_disk_counts_as_full_below_200_mib() -> None:
    case = Case()
    case.store.size, case.store.free = 1 << 40, 201 << 20
    case.post(1)
    assert case.outbox.write_waiting()
    case.clock.advance(5)
    case.store.free = 199 << 20
    case.post(2)

    assert not case.outbox.write_waiting()


def test_free_space_is_checked_periodically() -> None:
    case = Case()
    case.store.size, case.store.free = 1 << 40, 1 << 39

    for number in range(10):
        case.post(number)
        case.outbox.write_waiting()
        case.clock.advance(1)

    assert case.store.asked == 2


def test_the_thread_writes_posted_chunks() -> None:
    case = Case()
    case.outbox.start()

    case.post(1, 2, 3)

    assert eventually(lambda: case.outbox.bytes_written == len(b"schema;1;2;3;"))
    case.outbox.close(60)
    assert case.store.read(KEY) == b"schema;1;2;3;"


def test_closing_stops_at_its_timeout_and_reports_each_lost_chunk_once() -> None:
    case = Case()
    case.store.gate.clear()
    case.outbox.start()
    case.post(1, 2)
    assert case.store.arrived.wait(60)

    case.outbox.close(0.05)

    assert case.gaps() == [(1, 1), (2, 2)]
    assert {notice.reason for notice in case.lost} == {"not written in time"}
    case.store.gate.set()


def test_closing_while_the_thread_reads_the_queue_raises_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(30):
        case = Case()
        case.outbox.start()
        closer = threading.Thread(target=case.outbox.close, args=(0,))
        closer.start()
        case.post(*range(50))
        closer.join()
        case.outbox.close(60)

    assert caplog.records == []


def test_clearing_the_queue_during_a_write_ends_the_writing() -> None:
    case = Case()
    case.store.gate.clear()
    case.post(1, 2, 3)
    writer = threading.Thread(target=case.outbox.write_waiting)
    writer.start()
    assert case.store.arrived.wait(60)

    case.outbox._thread = writer
    case.outbox.close(0)
    case.store.gate.set()
    writer.join(60)

    assert not writer.is_alive()
    assert case.store.read(KEY) == b"schema;1;"


def test_closing_without_a_thread_writes_the_queue() -> None:
    case = Case()
    case.post(1)

    case.outbox.close(1)

    assert open_backend(case.store.uri).read(KEY) == b"schema;1;"
    assert case.lost == []
