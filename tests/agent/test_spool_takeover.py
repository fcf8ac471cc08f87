"""Another process sends the spool of a killed launcher, completely and once."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sonde.agent.relay import Relay
from sonde.agent.spool_takeover import EVERY_SECONDS, RETRY_SECONDS, SpoolTakeover
from sonde.clock import SystemClock
from sonde.errors import StoreError
from sonde.records.job import Attempt, Exit, ExitReason, JobState, Launcher
from sonde.store.backends.memory import Memory
from sonde.store.closing import closing_key
from sonde.store.facts import encode_facts
from sonde.store.format import SCALARS
from sonde.store.layout import EXIT, JOB, SENT, attempt_key, request_key, worker_folder, worker_key
from sonde.store.reader import FolderReader
from sonde.store.spool import Spool, SpoolFacts, find_unsent, local_spools
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock

ATTEMPT = Attempt("node", 1, 0, ("python", "train.py"), "/", 1, Launcher(1, "", ""), 0.5)


class Fickle(Memory):
    """A store in memory that fails after N writes."""

    writes_left = 1000

    def write(self, key: str, data: bytes) -> None:
        self._count()
        super().write(key, data)

    def append(self, key: str, offset: int, data: bytes) -> None:
        self._count()
        super().append(key, offset, data)

    def _count(self) -> None:
        if self.writes_left <= 0:
            raise StoreError("no answer")
        self.writes_left -= 1


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Fickle:
    target = Fickle(f"memory://{request.node.nodeid}/job")
    target.write(JOB, b"{}")
    return target


@pytest.fixture
def spool(target: Fickle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spool]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool.create(SpoolFacts(target.uri, "node", 1, "run"))
    yield spool
    spool.release()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def taking_over(
    spool: Spool, target: Fickle, clock: FakeClock, is_running: Callable[[], bool] = lambda: False
) -> SpoolTakeover:
    return SpoolTakeover(spool, target, clock, lambda _facts: is_running())


def write_rows(writer: Writer, count: int, start_ns: int = 0) -> None:
    times = [start_ns + path for path in range(count)]
    rows = [("loss", time, time, "train", 0.5, "hook") for time in times]
    writer.add_columns(SCALARS, list(zip(*rows, strict=True)), times[0], times[-1])
    assert writer.outbox.write_waiting()


def arrived(target: Memory) -> int:
    reader = FolderReader(target, worker_folder(0), SCALARS)
    reader.refresh()
    return len(reader.rows())


def test_takeover_continues_where_the_launcher_was_killed(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    writer = Writer(spool.source, worker_folder(0), clock)
    write_rows(writer, 3)
    Relay(spool, target, clock).send()
    write_rows(writer, 4)

    assert taking_over(spool, target, clock).run(0.0)
    assert arrived(target) == 7
    assert not spool.folder.exists()


def test_failed_store_is_retried_without_duplicates(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    writer = Writer(spool.source, worker_folder(0), clock)
    for number in range(3):
        spool.source.write(worker_key(number, 1, 0, "beat"), b"a beat")
    write_rows(writer, 3)
    target.writes_left = 2
    assert not taking_over(spool, target, clock).run(0.0)
    assert spool.folder.exists()

    target.writes_left = 1000
    assert taking_over(spool, target, clock).run(0.0)
    assert arrived(target) == 3


def test_takeover_sends_until_the_last_process_exits(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    writer = Writer(spool.source, worker_folder(0), clock)
    rounds = iter([True, True, True, True, True, True, True, False])
    sent: list[int] = []

    def is_running() -> bool:
        sent.append(arrived(target))
        write_rows(writer, 2, start_ns=round(clock.seconds()) * 10)
        return next(rounds)

    assert taking_over(spool, target, clock, is_running).run(0.0)
    assert sent == [0, 2, 2, 2, 2, 2, 2, 14]
    assert clock.seconds() == 7 * RETRY_SECONDS == EVERY_SECONDS + RETRY_SECONDS
    assert arrived(target) == 16


def test_delayed_write_of_the_killed_launcher_loses_nothing(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    writer = Writer(spool.source, worker_folder(0), clock)
    write_rows(writer, 3)
    [entry] = spool.source.entries("")
    early = spool.source.read(entry.key)
    write_rows(writer, 4)
    take_over = taking_over(spool, target, clock)
    take_over._send()
    target.delete([entry.key])
    target.append(entry.key, 0, early)

    assert take_over.run(60.0)
    assert arrived(target) == 7


def test_takeover_gives_up_after_a_timeout_with_a_reason(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    spool.source.write(worker_key(0, 1, 0, "beat"), b"a beat")
    target.writes_left = 0
    take_over = taking_over(spool, target, clock)

    assert not take_over.run(3600.0)
    assert 3600 <= clock.seconds() < 3700
    assert take_over.trouble == "no answer"
    assert spool.folder.exists()


def test_end_of_a_job_is_recorded_only_if_known(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    assert taking_over(spool, target, clock).run(0.0)
    assert target.exists(attempt_key("node", 1, SENT))
    assert not target.exists(closing_key("node", 1))
    assert not target.exists(attempt_key("node", 1, "exit"))

    second = Spool.create(SpoolFacts(target.uri, "node", 1, "run"))
    exit_key, start_key = attempt_key("node", 1, "exit"), attempt_key("node", 1, "start")
    exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, 5, code=0)
    second.source.write(start_key, encode_facts(ATTEMPT, start_key))
    second.source.write(exit_key, encode_facts(exit_, exit_key))
    second.source.write(EXIT, encode_facts(exit_, EXIT))
    assert taking_over(second, target, clock).run(0.0)
    assert target.exists(closing_key("node", 1))


def test_removed_job_is_not_recreated(spool: Spool, target: Fickle, clock: FakeClock) -> None:
    spool.source.write(worker_key(0, 1, 0, "beat"), b"a beat")
    target.delete([JOB])
    take_over = taking_over(spool, target, clock)

    assert not take_over.run(0.0)
    assert "removed from the store" in (take_over.trouble or "")
    assert target.entries("") == []


def test_requests_to_workers_are_not_sent_back(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    spool.source.write(request_key("one"), b"a request")
    assert find_unsent(spool.source, target).files == 0
    assert taking_over(spool, target, clock).run(0.0)
    assert not target.exists(request_key("one"))


def test_spool_is_sent_by_one_process_at_a_time(spool: Spool, clock: FakeClock) -> None:
    second = Spool(spool.folder)
    assert second.is_being_sent()
    assert not second.take_lock(clock, 1.0)
    spool.release()
    assert not second.is_being_sent()
    assert second.take_lock(clock)
    assert not Spool(spool.folder).take_lock(SystemClock())
    second.release()


def test_unsent_files_are_counted(spool: Spool, target: Fickle, clock: FakeClock) -> None:
    writer = Writer(spool.source, worker_folder(0), clock)
    write_rows(writer, 3)
    Relay(spool, target, clock).send()
    assert find_unsent(spool.source, target).bytes == 0
    [before] = spool.source.entries("")
    write_rows(writer, 3)
    [after] = spool.source.entries("")
    assert find_unsent(spool.source, target).bytes == after.size - before.size
    assert [unsent.folder for unsent in local_spools()] == [spool.folder]


def test_takeover_ends_when_the_folder_is_removed(
    spool: Spool, target: Fickle, clock: FakeClock
) -> None:
    spool.source.write(worker_key(0, 1, 0, "beat"), b"a beat")
    target.writes_left = 0
    take_over = taking_over(spool, target, clock)
    assert not take_over.run(0.0)
    shutil.rmtree(spool.folder)

    assert not take_over.run(3600.0)
    assert clock.seconds() < 60
    assert take_over.trouble == "the folder was removed"
