"""The local backend: temporary files, links, unusual paths, concurrent processes."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import StoreError, UsageError
from sonde.store.backends import open_backend
from sonde.store.backends.local import Local

CREATE_WHEN_TOLD = """
import sys
from sonde.store.backends import open_backend
backend = open_backend(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(sum(backend.create(f"job/{n}.json", sys.argv[2].encode() * 5000) for n in range(200)))
"""


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def fail_with(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (os, "replace")])
def test_a_failed_write_keeps_the_old_content_and_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, step: str
) -> None:
    backend = Local(str(tmp_path))
    backend.write("job/job.json", b"old")

    def full(*_: object, **__: object) -> None:
        raise fail_with(errno.ENOSPC)

    monkeypatch.setattr(owner, step, full)
    with pytest.raises(StoreError, match=r"job\.json: no space left on device"):
        backend.write("job/job.json", b"new")

    assert files(tmp_path) == ["job/job.json"]
    assert backend.read("job/job.json") == b"old"


def test_creating_a_key_leaves_no_temporary_file_in_any_case(tmp_path: Path) -> None:
    backend = Local(str(tmp_path))

    assert backend.create("job/lease.json", b"1")
    assert not backend.create("job/lease.json", b"2")

    assert files(tmp_path) == ["job/lease.json"]


def test_temporary_files_of_a_killed_writer_are_not_listed(tmp_path: Path) -> None:
    backend = Local(str(tmp_path))
    backend.write("job/job.json", b"1")
    (tmp_path / "job" / ".job.json.123-abcd").write_bytes(b"half")

    assert [entry.key for entry in backend.entries("")] == ["job/job.json"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_hard_links_only_the_first_writer_creates_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise fail_with(number)

    monkeypatch.setattr(os, "link", no_links)
    backend = Local(str(tmp_path))

    assert backend.create("job/lease.json", b"1")
    assert not backend.create("job/lease.json", b"2")
    assert backend.read("job/lease.json") == b"1"
    assert files(tmp_path) == ["job/lease.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_failed_creation_without_hard_links_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_really = os.open

    def open_on_a_full_disk(path: str, flags: int, *rest: Any, **where: Any) -> int:
        file = open_really(path, flags, *rest, **where)
        if path != "lease.json":
            return file
        os.close(file)
        return open_really("/dev/full", os.O_WRONLY)

    def no_links(*_: object, **__: object) -> None:
        raise fail_with(errno.EPERM)

    monkeypatch.setattr(os, "open", open_on_a_full_disk)
    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(StoreError, match="no space left"):
        Local(str(tmp_path)).create("job/lease.json", b"1")

    assert files(tmp_path) == []


@pytest.mark.parametrize("folder", ["my runs", "läufe/学", "100%"])
def test_folders_may_have_spaces_and_non_latin_letters(tmp_path: Path, folder: str) -> None:
    open_backend(str(tmp_path / folder)).write("job/job.json", b"1")

    assert files(tmp_path) == [f"{folder}/job/job.json"]


@pytest.mark.parametrize("address", ["file://{}/my%20runs", "file://localhost{}/my%20runs"])
def test_a_file_uri_is_unquoted(tmp_path: Path, address: str) -> None:
    open_backend(address.format(tmp_path)).write("job/job.json", b"1")

    assert files(tmp_path) == ["my runs/job/job.json"]


def test_a_file_uri_with_a_host_is_refused() -> None:
    with pytest.raises(UsageError, match="file:///"):
        open_backend("file://runs/today")


def test_a_plain_path_is_not_unquoted(tmp_path: Path) -> None:
    open_backend(f"{tmp_path}/my%20runs").write("job/job.json", b"1")

    assert files(tmp_path) == ["my%20runs/job/job.json"]


def test_opening_a_store_creates_no_folder(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path / "store"))

    assert backend.entries("") == []
    assert backend.folders("") == []
    assert files(tmp_path) == []
    assert not (tmp_path / "store").exists()


def test_a_store_below_a_file_raises_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    backend = Local(str(tmp_path / "file" / "store"))

    for attempt in (
        lambda: backend.write("job/job.json", b"1"),
        lambda: backend.create("job/job.json", b"1"),
        lambda: backend.append("job/1.frames", 0, b"1"),
    ):
        with pytest.raises(StoreError, match="job"):
            attempt()


def test_free_space_of_a_missing_folder_is_that_of_its_parent(tmp_path: Path) -> None:
    backend = Local(str(tmp_path / "not" / "yet"))

    free, size = backend.free_bytes(), backend.size_bytes()

    assert free is not None
    assert size is not None
    assert 0 < free <= size


def test_each_key_is_created_by_exactly_one_of_two_processes(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE_WHEN_TOLD, str(tmp_path), letter],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for letter in "ab"
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [int(process.communicate(timeout=60)[0]) for process in started]

    assert sum(won) == 200
    backend = Local(str(tmp_path))
    contents = [backend.read(f"job/{number}.json") for number in range(200)]
    assert set(contents) <= {b"a" * 5000, b"b" * 5000}
    assert [contents.count(letter * 5000) for letter in (b"a", b"b")] == won
    assert len(files(tmp_path)) == 200


def leftover(folder: Path) -> Path:
    """Create the temporary file of a writer that was killed while it wrote `job.json`."""
    path = folder / ".job.json.4711-0123abcd"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half of")
    return path


def test_erasing_removes_temporary_files_of_killed_writers_and_the_folder(tmp_path: Path) -> None:
    backend = Local(str(tmp_path / "job"))
    backend.write("nodes/a/job.json", b"1")
    leftover(tmp_path / "job" / "nodes" / "b" / "system")
    leftover(tmp_path / "job")

    backend.erase()

    assert list(tmp_path.iterdir()) == []


def test_erasing_keeps_hidden_files_that_sonde_did_not_write(tmp_path: Path) -> None:
    backend = Local(str(tmp_path / "job"))
    backend.write("job.json", b"1")
    (tmp_path / "job" / ".gitignore").write_text("*")

    backend.erase()

    assert files(tmp_path) == ["job/.gitignore"]


def test_erasing_does_not_follow_links_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    backend = Local(str(tmp_path / "job"))
    backend.write("job.json", b"1")
    (tmp_path / "job" / "link").symlink_to(tmp_path / "elsewhere")
    leftover(tmp_path / "elsewhere")

    backend.erase()

    assert files(tmp_path) == ["elsewhere/.job.json.4711-0123abcd"]


def test_sweeping_removes_abandoned_temporary_files(tmp_path: Path) -> None:
    backend = Local(str(tmp_path))
    old, young = leftover(tmp_path / "old"), leftover(tmp_path / "young")
    now_ns = young.stat().st_mtime_ns
    os.utime(old, ns=(0, now_ns - 3600 * 10**9))

    backend.sweep(now_ns)

    assert files(tmp_path) == ["young/.job.json.4711-0123abcd"]


def test_no_key_can_leave_the_store(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    backend = open_backend(str(tmp_path / "store"))
    for key in ("../secret", "a/../../secret", "/etc/passwd"):
        with pytest.raises(StoreError, match="not a key"):
            backend.read(key)
        with pytest.raises(StoreError, match="not a key"):
            backend.delete([key])
    assert (tmp_path / "secret").exists()


def test_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path))
    backend.write("nodes/a/heartbeat.json", b"{}")
    gone, alive = "nodes/a/.heartbeat.json.7-0123abcd", "nodes/a/.heartbeat.json.8-0123abcd"
    elsewhere = "nodes/b/.heartbeat.json.7-0123abcd"
    (tmp_path / "nodes" / "b").mkdir()
    for name in (gone, alive, elsewhere, "nodes/a/.heartbeat.json"):
        (tmp_path / name).write_bytes(b"")
    backend.sweep_of("nodes/a", lambda pid: pid == 7)
    remaining = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    retained = {"nodes/a/heartbeat.json", "nodes/a/.heartbeat.json"}
    assert remaining == retained | {alive, elsewhere}


def thesis(folder: Path) -> Path:
    """Create a user's files and a link to them inside a job."""
    (folder / "thesis" / "0").mkdir(parents=True)
    (folder / "thesis" / "0" / "notes.json").write_bytes(b"mine")
    return folder / "thesis"


def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path / "job"))
    backend.write("job.json", b"1")
    (tmp_path / "job" / "workers").symlink_to(thesis(tmp_path))

    for attempt in (
        lambda: backend.write("workers/0/notes.json", b"ours"),
        lambda: backend.write("workers/1/new.json", b"ours"),
        lambda: backend.create("workers/0/new.json", b"ours"),
        lambda: backend.append("workers/0/new.frames", 0, b"ours"),
        lambda: backend.append("workers/0/notes.json", 2, b"ours"),
    ):
        with pytest.raises(StoreError, match="workers is a symbolic link"):
            attempt()
    backend.delete(["workers/0/notes.json", "workers/0/not-there.json"])

    assert files(tmp_path / "thesis") == ["0/notes.json"]
    assert (tmp_path / "thesis" / "0" / "notes.json").read_bytes() == b"mine"


def test_a_link_instead_of_a_file_is_replaced_or_refused(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path / "job"))
    backend.write("rules/lease.json", b"1")
    mine = thesis(tmp_path) / "0" / "notes.json"
    for name in ("progress.json", "1.frames"):
        (tmp_path / "job" / "rules" / name).symlink_to(mine)

    backend.write("rules/progress.json", b"ours")
    assert not backend.create("rules/1.frames", b"ours")
    for offset in (0, 2):
        with pytest.raises(StoreError, match=r"1\.frames"):
            backend.append("rules/1.frames", offset, b"ours")

    assert mine.read_bytes() == b"mine"
    assert backend.read("rules/progress.json") == b"ours"


def test_linked_folders_are_neither_listed_nor_swept(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path / "job"))
    backend.write("job.json", b"1")
    (tmp_path / "job" / "workers").symlink_to(thesis(tmp_path))
    leftover(tmp_path / "thesis" / "0")

    assert backend.folders("workers") == []
    backend.sweep_of("workers", lambda _pid: True)

    assert files(tmp_path / "thesis") == ["0/.job.json.4711-0123abcd", "0/notes.json"]


def test_a_pipe_instead_of_a_segment_does_not_block_a_writer(tmp_path: Path) -> None:
    backend = open_backend(str(tmp_path))
    os.mkfifo(tmp_path / "1.frames")

    with pytest.raises(StoreError, match=r"1\.frames"):
        backend.append("1.frames", 0, b"ours")


def test_a_linked_store_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    backend = open_backend(str(tmp_path / "data" / "job"))

    backend.write("nodes/a/start.json", b"1")
    backend.append("nodes/a/1.frames", 0, b"1")

    assert files(tmp_path / "disk") == ["job/nodes/a/1.frames", "job/nodes/a/start.json"]
