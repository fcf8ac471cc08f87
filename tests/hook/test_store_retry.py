"""A worker whose store fails at first starts later, and reports the loss until then."""

import os
import resource
from pathlib import Path

from sonde.agent.loss_listener import LossListener
from sonde.errors import StoreError
from sonde.hook.loss_report import RESERVED_SOCKET, ReservedSocket, send_losses
from sonde.hook.store_retry import OpeningAttempts
from sonde.records.notice import Notice, NoticeKind
from sonde.settings import WorkerPlacement
from sonde.store.backends.memory import Memory
from sonde.store.writer import Writer
from tests.fakes.clock import FakeClock


class Store:
    """A store that fails while it is full."""

    def __init__(self) -> None:
        self.is_full = True
        self.attempts = 0

    def begin(self) -> None:
        self.attempts += 1
        if self.is_full:
            raise StoreError("no space left on device")


def test_failing_store_is_retried_with_growing_pauses() -> None:
    clock, store = FakeClock(), Store()
    attempts = OpeningAttempts(WorkerPlacement("node"), clock)
    assert attempts.is_due()
    attempts.attempt(store.begin)
    assert not attempts.is_due()
    clock.advance(1.1)
    assert attempts.is_due()
    attempts.attempt(store.begin)
    clock.advance(1.1)
    assert not attempts.is_due()
    assert store.attempts == 2


def test_loss_before_the_store_works_is_recorded() -> None:
    clock, store = FakeClock(), Store()
    attempts = OpeningAttempts(WorkerPlacement("node"), clock)
    attempts.attempt(store.begin)
    clock.advance(5.0)
    writer = Writer(Memory("memory://job"), "workers/0", clock)
    attempts.report_to(writer)
    (loss,) = writer._lost
    assert (loss.kind, loss.what) == (NoticeKind.LOST_STEPS, "training steps")
    assert loss.end_ns - loss.start_ns >= 5_000_000_000


def test_failure_other_than_the_store_is_not_retried() -> None:
    attempts = OpeningAttempts(WorkerPlacement("node"), FakeClock())
    attempts.give_up("ImportError: no module named torch")
    assert not attempts.is_due()


def test_losses_reach_the_launcher_without_a_disk() -> None:
    listener = LossListener("test-run")
    losses = [
        Notice(NoticeKind.LOST, "step events", "disk full", 5, 9),
        Notice(NoticeKind.LOST, "scalars", "disk full", 3, 7),
    ]
    send_losses("test-run", 2, losses, is_recorded=False)
    send_losses("test-run", 2, [], is_recorded=False)
    send_losses("another-run", 3, losses, is_recorded=False)
    (received,) = listener.close()
    assert received.notice == Notice(
        NoticeKind.LOST, "worker 2: step events, scalars", "disk full", 3, 9
    )
    assert not received.is_recorded


def test_lost_training_steps_remain_known_as_such() -> None:
    listener = LossListener("test-run-steps")
    losses = [
        Notice(NoticeKind.LOST, "scalars", "disk full", 3, 7),
        Notice(NoticeKind.LOST_STEPS, "training steps", "disk full", 5, 9),
    ]
    send_losses("test-run-steps", 2, losses, is_recorded=False)
    (received,) = listener.close()
    assert received.notice.kind is NoticeKind.LOST_STEPS


def test_losses_reach_the_launcher_without_a_free_file_descriptor() -> None:
    listener, before = LossListener("test-run-files"), resource.getrlimit(resource.RLIMIT_NOFILE)
    loss = Notice(NoticeKind.LOST_STEPS, "training steps", "too many open files", 5, 9)
    RESERVED_SOCKET.open()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, before[1]))
        send_losses("test-run-files", 2, [loss], is_recorded=False)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    (received,) = listener.close()
    assert received.notice.reason == "too many open files"


def test_reserved_socket_that_the_script_closed_and_reused_is_left_alone(tmp_path: Path) -> None:
    reserved = ReservedSocket()
    reserved.open()
    descriptor = reserved._descriptor
    assert descriptor is not None
    with (tmp_path / "mine").open("wb") as file:
        os.dup2(file.fileno(), descriptor)
        assert reserved.take() is None
        os.write(descriptor, b"still open")
    os.close(descriptor)
