"""The lease: one watches, others take over when it is gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.records.job import Launcher
from sonde.store import lease as lease_module
from sonde.store.backends import Backend, open_backend
from sonde.store.layout import JOB
from sonde.store.lease import LEASE, Leasing
from tests.fakes.clock import FakeClock


@pytest.fixture
def backend() -> Backend:
    return open_backend("memory://lease/job")


@pytest.fixture(autouse=True)
def nothing_held(backend: Backend) -> None:
    backend.delete([LEASE])
    backend.write(JOB, b"{}")


class Watchers:
    """Several on one store and one clock, on machines that cannot see each other's processes."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self._backend = backend
        self._monkeypatch = monkeypatch

    def on(self, node: str) -> Leasing:
        elsewhere = Launcher(1, "0", f"the boot of {node}")
        self._monkeypatch.setattr(lease_module, "this_process", lambda: elsewhere)
        return Leasing(self._backend, self.clock, node)


@pytest.fixture
def watchers(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Watchers:
    return Watchers(backend, monkeypatch)


def test_the_first_one_gets_it_and_the_second_does_not(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    assert first.is_free()
    first.take()
    assert first.is_held()
    assert not second.is_free()
    assert not second.is_held()
    assert second.holder == "process 1 on node-a"


def test_of_two_that_take_it_at_once_the_last_has_it(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    assert first.is_free()
    assert second.is_free()
    first.take()
    second.take()
    assert (first.is_held(), second.is_held()) == (False, True)


def test_a_holder_that_renews_it_keeps_it(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    first.take()
    for _ in range(100):
        watchers.clock.advance(2.0)
        assert first.is_held()
        assert not second.is_free()


def test_a_holder_that_is_silent_loses_it_after_a_while(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    first.take()
    assert not second.is_free()
    watchers.clock.advance(15.0)
    assert not second.is_free()
    watchers.clock.advance(10.0)
    assert second.is_free()
    second.take()
    assert second.is_held()
    assert not first.is_held()  # it came back, and notices


def test_one_that_looks_for_the_first_time_waits_first(watchers: Watchers) -> None:
    watchers.on("node-a").take()
    watchers.clock.advance(3600.0)
    assert not watchers.on("node-b").is_free()


def test_what_was_released_is_free_at_once(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    first.take()
    first.release()
    assert second.is_free()
    second.take()
    first.release()  # too late: it is another's
    assert second.is_held()


def test_a_process_of_this_machine_that_is_gone_holds_nothing(backend: Backend) -> None:
    clock = FakeClock()
    gone = Leasing(backend, clock, "node-a")
    gone._own = replace(gone._own, process=replace(gone._own.process, started="long ago"))
    gone.take()
    assert Leasing(backend, clock, "node-a").is_free()


def test_a_process_of_this_machine_that_lives_keeps_it_however_silent(backend: Backend) -> None:
    clock = FakeClock()
    Leasing(backend, clock, "node-a").take()
    second_leasing = Leasing(backend, clock, "node-a")
    assert not second_leasing.is_free()
    clock.advance(3600.0)
    assert not second_leasing.is_free()


def test_a_damaged_lease_is_nobody_s(backend: Backend) -> None:
    backend.write(LEASE, b"{")
    leasing = Leasing(backend, FakeClock(), "node-a")
    assert leasing.is_free()
    assert leasing.holder == "no process"


def test_a_lease_renewed_while_the_job_is_removed_is_not_left_behind(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    leasing = Leasing(backend, clock, "node-a")
    leasing.take()
    clock.advance(60.0)
    write = backend.write

    def removed_first(key: str, content: bytes) -> None:
        backend.delete([JOB, LEASE])
        write(key, content)

    monkeypatch.setattr(backend, "write", removed_first)
    leasing.is_held()
    assert not backend.exists(LEASE)
    assert not leasing.is_held()


def test_a_lease_taken_of_a_removed_job_leaves_no_folder(tmp_path: Path) -> None:
    Leasing(open_backend(str(tmp_path / "job")), FakeClock(), "node-a").take()
    assert list(tmp_path.iterdir()) == []


def test_what_a_dead_process_held_can_be_released_for_it(backend: Backend) -> None:
    dead = Leasing(backend, FakeClock(), "node-a")
    dead._own = replace(dead._own, process=replace(dead._own.process, started="long ago"))
    dead.take()
    live = Leasing(backend, FakeClock(), "node-a")
    live.release_dead()
    lease = live._read()
    assert lease is not None
    assert lease.is_released

    live.take()
    Leasing(backend, FakeClock(), "node-b").release_dead()
    assert live.is_held()
