"""Disk space reserved for the final documents of an attempt."""

from pathlib import Path

from sonde.store.backends import open_backend
from sonde.store.owned import is_ours
from sonde.store.reserve import release_reserve, take_reserve
from tests.fakes.job import FakeJob


def test_space_is_reserved_on_a_disk_until_it_is_needed(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path))

    take_reserve(backend, "nodes/a/attempt-001/reserve")
    entries = backend.entries("")
    release_reserve(backend, "nodes/a/attempt-001/reserve")

    assert sum(entry.size for entry in entries) >= 16 * 1024
    assert len(entries) >= 6  # inodes: two exits, a heartbeat, a folder and a log of lost data
    assert all(is_ours(entry.key) for entry in entries)
    assert backend.entries("") == []


def test_no_space_is_reserved_on_unlimited_backends() -> None:
    job = FakeJob()
    before = job.stored()

    take_reserve(job.backend, "nodes/a/attempt-001/reserve")

    assert job.stored() == before
