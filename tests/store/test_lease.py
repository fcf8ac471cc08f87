"""The lease: one process holds it, and another takes over when the holder has gone."""

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
    """Leases of several machines; processes of other machines are invisible."""

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


def test_only_the_first_process_gets_the_lease(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    assert first.is_free()
    first.take()
    assert first.is_held()
    assert not second.is_free()
    assert not second.is_held()
    assert second.holder == "process 1 on node-a"


def test_if_two_processes_take_it_at_once_the_last_one_holds_it(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    assert first.is_free()
    assert second.is_free()
    first.take()
    second.take()
    assert (first.is_held(), second.is_held()) == (False, True)


def test_a_holder_that_renews_the_lease_keeps_it(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    first.take()
    for _ in range(100):
        watchers.clock.advance(2.0)
        assert first.is_held()
        assert not second.is_free()


def test_a_silent_holder_loses_the_lease_after_a_while(watchers: Watchers) -> None:
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


def test_a_new_process_observes_the_lease_before_taking_it(watchers: Watchers) -> None:
    watchers.on("node-a").take()
    watchers.clock.advance(3600.0)
    assert not watchers.on("node-b").is_free()


def test_a_released_lease_is_free_immediately(watchers: Watchers) -> None:
    first, second = watchers.on("node-a"), watchers.on("node-b")
    first.take()
    first.release()
    assert second.is_free()
    second.take()
    first.release()  # too late: another process holds it
    assert second.is_held()


def test_a_dead_process_on_this_machine_does_not_hold_the_lease(backend: Backend) -> None:
    clock = FakeClock()
    gone = Leasing(backend, clock, "node-a")
    gone._own_lease = replace(
        gone._own_lease, process=replace(gone._own_lease.process, started="long ago")
    )
    gone.take()
    assert Leasing(backend, clock, "node-a").is_free()


def test_a_live_process_on_this_machine_keeps_the_lease_even_if_silent(backend: Backend) -> None:
    clock = FakeClock()
    Leasing(backend, clock, "node-a").take()
    second_leasing = Leasing(backend, clock, "node-a")
    assert not second_leasing.is_free()
    clock.advance(3600.0)
    assert not second_leasing.is_free()


def test_a_damaged_lease_is_free(backend: Backend) -> None:
    backend.write(LEASE, b"{")
    leasing = Leasing(backend, FakeClock(), "node-a")
    assert leasing.is_free()
    assert leasing.holder == "no process"


def test_a_lease_renewed_during_removal_of_the_job_is_removed(
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


def test_taking_the_lease_of_a_removed_job_creates_no_folder(tmp_path: Path) -> None:
    Leasing(open_backend(str(tmp_path / "job")), FakeClock(), "node-a").take()
    assert list(tmp_path.iterdir()) == []


def test_the_lease_of_a_dead_process_can_be_released(backend: Backend) -> None:
    dead = Leasing(backend, FakeClock(), "node-a")
    dead._own_lease = replace(
        dead._own_lease, process=replace(dead._own_lease.process, started="long ago")
    )
    dead.take()
    live = Leasing(backend, FakeClock(), "node-a")
    live.release_dead()
    lease = live._read()
    assert lease is not None
    assert lease.is_released

    live.take()
    Leasing(backend, FakeClock(), "node-b").release_dead()
    assert live.is_held()
