"""Outages of an S3 server, and the outbox that retries."""

import time
from collections.abc import Iterator

import pytest

from sonde.clock import SystemClock
from sonde.errors import StoreError
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import open_backend, s3
from sonde.store.outbox import WAITING_LIMIT_BYTES, Chunk, GrowingSegment, Outbox
from tests.fakes.eventually import eventually
from tests.fakes.flaky_proxy import FlakyProxy

KEY = "job/nodes/a/system/1.frames"
SCHEMA = b"schema;"


@pytest.fixture
def proxy(s3_port: int) -> Iterator[FlakyProxy]:
    with FlakyProxy(s3_port) as flaky:
        yield flaky


class Recording:
    """An outbox that writes one segment through the proxy, and the losses that it reports."""

    def __init__(self, uri: str, limit_bytes: int = WAITING_LIMIT_BYTES) -> None:
        self.lost: list[Notice] = []
        self.backend = open_backend(uri)
        self.outbox = Outbox(self.backend, SystemClock(), self.lost.append, limit_bytes)
        self.segment = GrowingSegment(KEY, SCHEMA)

    def post(self, number: int) -> None:
        """Post one chunk with ten nanoseconds of data."""
        frames = frame(number)
        start_ns = 10 * number
        self.outbox.post(Chunk(self.segment, frames, "system samples", start_ns, start_ns + 9))

    def error(self) -> str | None:
        return self.outbox.last_error

    def content(self) -> bytes:
        return open_backend(self.backend.uri).read(KEY)


def frame(number: int) -> bytes:
    return b"frame %03d;" % number


def frames(numbers: range | list[int]) -> bytes:
    return SCHEMA + b"".join(frame(number) for number in numbers)


@pytest.fixture
def uri(s3_uri: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
    return s3_uri


def test_after_an_outage_all_chunks_are_sent_automatically(uri: str, proxy: FlakyProxy) -> None:
    recording = Recording(uri)
    recording.outbox.start()
    recording.post(0)
    assert eventually(lambda: recording.outbox.bytes_written == len(frames([0])))

    proxy.refuse()
    for number in range(1, 20):
        recording.post(number)
    assert eventually(recording.error)
    assert recording.error() == f"Cannot write {uri}/{KEY}: connection refused"
    proxy.recover()

    assert eventually(lambda: recording.outbox.bytes_written == len(frames(range(20))))
    recording.outbox.close(60)
    assert recording.error() is None
    assert recording.content() == frames(range(20))
    assert recording.lost == []


def test_late_arrival_of_abandoned_puts_does_no_harm(
    uri: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hurried:
        hurried.setattr(s3, "READ_TIMEOUT_SECONDS", 0.5)
        recording = Recording(uri)
    recording.outbox.start()

    proxy.hang()
    for number in range(20):
        recording.post(number)
    assert eventually(recording.error)
    assert recording.error() == f"Cannot write {uri}/{KEY}: request timed out"
    proxy.recover()
    recording.outbox.close(60)

    assert recording.content() == frames(range(20))
    assert recording.lost == []


def test_posting_does_not_wait_for_an_unresponsive_server(uri: str, proxy: FlakyProxy) -> None:
    recording = Recording(uri)
    recording.outbox.start()
    proxy.hang()
    recording.post(0)
    assert proxy.wait_for_a_held_request(60)

    longest_seconds = 0.0
    for number in range(1, 50):
        started = time.monotonic()
        recording.post(number)
        longest_seconds = max(longest_seconds, time.monotonic() - started)

    assert longest_seconds < s3.READ_TIMEOUT_SECONDS
    assert recording.outbox.bytes_written == 0
    proxy.recover()
    recording.outbox.close(60)
    assert recording.content() == frames(range(50))


def test_closing_is_limited_by_its_timeout_and_reports_lost_chunks(
    uri: str, proxy: FlakyProxy
) -> None:
    recording = Recording(uri)
    recording.outbox.start()
    proxy.hang()
    for number in range(3):
        recording.post(number)
    assert proxy.wait_for_a_held_request(60)

    started = time.monotonic()
    recording.outbox.close(0.2)

    assert time.monotonic() - started < s3.READ_TIMEOUT_SECONDS
    assert [(lost.start_ns, lost.end_ns) for lost in recording.lost] == [(0, 9), (10, 19), (20, 29)]
    assert {lost.what for lost in recording.lost} == {"system samples"}


def test_chunks_that_exceed_the_limit_are_reported_with_their_time_range(
    uri: str, proxy: FlakyProxy
) -> None:
    recording = Recording(uri, limit_bytes=4 * len(frame(0)))
    proxy.refuse()
    recording.post(0)
    assert not recording.outbox.write_waiting()
    for number in range(1, 10):
        recording.post(number)
    proxy.recover()
    recording.outbox.close(60)

    # the first may be in transfer, the last three fit, and those in between are dropped
    assert recording.content() == frames([0, 7, 8, 9])
    assert [(lost.start_ns, lost.end_ns) for lost in recording.lost] == [
        (10 * number, 10 * number + 9) for number in range(1, 7)
    ]
    assert {lost.kind for lost in recording.lost} == {NoticeKind.LOST}
    assert all("connection refused" in lost.reason for lost in recording.lost)


def test_timeout_and_retries_take_less_than_ten_seconds() -> None:
    assert s3.READ_TIMEOUT_SECONDS + s3.RETRY_SECONDS < 10


@pytest.mark.parametrize("failure", ["refuse", "hang"])
def test_an_unresponsive_server_is_an_error_after_timeout_and_retries(
    uri: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    open_backend(uri).write("job/job.json", b"1")
    monkeypatch.setattr(s3, "READ_TIMEOUT_SECONDS", 0.5)
    backend = open_backend(uri)
    getattr(proxy, failure)()

    started = time.monotonic()
    with pytest.raises(StoreError, match="Cannot read") as caught:
        backend.read("job/job.json")

    assert time.monotonic() - started < 0.5 + s3.RETRY_SECONDS + 30
    assert "\n" not in str(caught.value)
    assert "test-secret" not in str(caught.value)
    assert "test-key-id" not in str(caught.value)
