"""The relay sends the spool to an object store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.agent.relay import Relay
from sonde.errors import StoreError
from sonde.records.request import RequestKind
from sonde.store.backends import Backend
from sonde.store.backends.memory import Memory
from sonde.store.control import Inbox, replies_to, send_request
from sonde.store.format import SCALARS
from sonde.store.layout import REQUESTS, request_key, worker_folder, worker_key
from sonde.store.reader import FolderReader
from sonde.store.spool import Spool, SpoolFacts
from sonde.store.writer import SEGMENT_SECONDS, Writer
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually


class Fickle(Memory):
    """A store in memory that rejects writes on request."""

    refuses = False

    def write(self, key: str, data: bytes) -> None:
        if self.refuses:
            raise StoreError("no answer")
        super().write(key, data)


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Fickle:
    return Fickle(f"memory://{request.node.nodeid}/job")


@pytest.fixture
def relay(target: Fickle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool.create(SpoolFacts(target.uri, "node", 1, "run"))
    relay = Relay(spool, target, FakeClock())
    yield relay
    target.refuses = False


@pytest.fixture
def writer(relay: Relay) -> Writer:
    """Return the writer of a worker."""
    return Writer(relay.source, worker_folder(0), FakeClock())


def write_rows(writer: Writer, count: int, start_ns: int = 0) -> None:
    times = [start_ns + path for path in range(count)]
    rows = [("loss", time, time, "train", 0.5, "hook") for time in times]
    columns = list(zip(*rows, strict=True))
    writer.add_columns(SCALARS, columns, times[0], times[-1])
    writer.outbox.write_waiting()


def arrived(target: Backend) -> int:
    reader = FolderReader(target, worker_folder(0), SCALARS)
    reader.refresh()
    return len(reader.rows())


def test_segment_is_appended_in_the_target(relay: Relay, target: Fickle, writer: Writer) -> None:
    for total in (3, 6, 9):
        write_rows(writer, 3)
        assert relay.send()
        assert arrived(target) == total


def test_rewritten_document_is_sent_again(relay: Relay, target: Fickle) -> None:
    key = worker_key(0, 1, 0, "beat")
    for content in (b"first", b"later", b"the last"):
        relay.source.write(key, content)
        relay.send()
        assert target.read(key) == content


def test_unchanged_file_is_not_sent_again(relay: Relay, target: Fickle) -> None:
    key = worker_key(0, 1, 0, "start")
    relay.source.write(key, b"once")
    relay.send()
    target.write(key, b"seen by somebody")
    relay.send()
    assert target.read(key) == b"seen by somebody"


def test_outage_loses_and_repeats_nothing(relay: Relay, target: Fickle, writer: Writer) -> None:
    write_rows(writer, 3)
    relay.send()
    target.refuses = True
    write_rows(writer, 3)
    assert not relay.send()
    write_rows(writer, 3)
    target.refuses = False
    assert relay.send()
    assert arrived(target) == 9


def test_complete_files_are_deleted_locally(relay: Relay, target: Fickle, writer: Writer) -> None:
    write_rows(writer, 1)
    relay.source.write("workers/0/values/train-0000000001-abc.safetensors", b"tensors")
    relay.source.write("workers/0/profiles/operators-0000000005-abc.json.gz", b"a trace")
    write_rows(writer, 1, start_ns=int(SEGMENT_SECONDS * 1e9))
    relay.send()
    keys = [entry.key for entry in relay.source.entries("")]
    assert len(keys) == 1  # the growing segment
    assert target.read("workers/0/values/train-0000000001-abc.safetensors") == b"tensors"
    assert target.read("workers/0/profiles/operators-0000000005-abc.json.gz") == b"a trace"
    write_rows(writer, 1, start_ns=int(SEGMENT_SECONDS * 1e9) + 1)
    relay.send()
    assert arrived(target) == 3


def test_finish_sends_the_rest_and_removes_the_folder(
    relay: Relay, target: Fickle, writer: Writer, tmp_path: Path
) -> None:
    relay.start()
    write_rows(writer, 5)
    assert eventually(lambda: relay.finish(0.05))
    assert arrived(target) == 5
    assert not list(tmp_path.glob("sonde-workers-*"))


def test_unsent_data_stays_in_its_folder(
    relay: Relay, target: Fickle, writer: Writer, tmp_path: Path
) -> None:
    target.refuses = True
    write_rows(writer, 5)
    relay.start()
    relay.finish(10)
    assert relay.trouble == "no answer"
    (remaining,) = tmp_path.glob("sonde-workers-*")
    assert list(remaining.rglob("*.frames"))


def test_request_reaches_workers_and_is_not_sent_back(relay: Relay, target: Fickle) -> None:
    inbox = Inbox(relay.source, "worker-0")
    clock = FakeClock()
    request = send_request(target, clock, RequestKind.PROFILE, {"kinds": "python"})
    target.delete([request_key(request.id)])
    relay.forward(request)
    [heard] = inbox.new_requests()
    inbox.reply(heard, clock, is_done=True, message="python in step 7")
    assert relay.send()

    assert heard == request
    assert replies_to(target, request)["worker-0"].message == "python in step 7"
    assert list(target.entries(REQUESTS)) == []


def test_spool_with_running_writers_is_left_to_another_process(
    relay: Relay, target: Fickle, writer: Writer
) -> None:
    relay.start()
    write_rows(writer, 5)
    assert relay.finish(60, keep=True)
    assert arrived(target) == 5
    assert relay.spool.folder.exists()
    assert not Spool(relay.spool.folder).is_being_sent()


def test_truncated_segment_is_sent_again(relay: Relay, target: Fickle, writer: Writer) -> None:
    write_rows(writer, 3)
    [first] = relay.source.entries("")
    early = relay.source.read(first.key)
    write_rows(writer, 3)
    relay.send()
    target.delete([first.key])
    target.append(first.key, 0, early)  # a delayed write of a killed process
    write_rows(writer, 1, start_ns=int(SEGMENT_SECONDS * 1e9))
    relay.send()
    assert relay.source.exists(first.key)
    relay.send()
    assert not relay.source.exists(first.key)
    assert arrived(target) == 7
