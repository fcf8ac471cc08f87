"""Communication between loader processes and the training process."""

import os
import tempfile
from pathlib import Path

import pytest

from sonde.hook.torch.data.loader_channel import Channel
from sonde.store.loader_folders import loader_folder, remove_loader_folders


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def find_channel(owner: int = 1) -> Channel:
    channel = Channel.find("a", owner)
    assert channel is not None
    return channel


def test_requests_are_visible_to_open_channels_immediately() -> None:
    trains = Channel.create("a", 1)
    loads = find_channel()
    assert (loads.number, loads.batches, loads.is_open) == (0, 0, False)
    trains.request(5, is_open=True)
    assert (loads.number, loads.batches, loads.is_open) == (1, 5, True)
    trains.end()
    assert (loads.number, loads.is_open) == (1, False)


def test_lines_are_read_once_and_only_when_complete() -> None:
    trains, pid = Channel.create("a", 1), os.getpid()
    loads = find_channel()
    assert trains.read_new() == []
    loads.write("one")
    assert trains.read_new() == [(pid, "one")]
    with (loader_folder("a", 1) / str(pid)).open("ab") as file:
        file.write(b"two\nthr")
        file.flush()
        assert trains.read_new() == [(pid, "two")]
        file.write(b"ee\n")
    assert trains.read_new() == [(pid, "three")]
    assert trains.read_new() == []


def test_no_channel_is_found_without_a_training_process() -> None:
    assert Channel.find("a", 1) is None


def test_closing_a_channel_removes_its_folder(own_folder: Path) -> None:
    trains = Channel.create("a", 1)
    loads = find_channel()
    loads.write("one")
    trains.close()
    assert list(own_folder.iterdir()) == []
    assert trains.read_new() == []
    with pytest.raises(FileNotFoundError):
        loads.write("too late")


def test_the_folder_of_a_killed_process_is_reused_and_removed(own_folder: Path) -> None:
    Channel.create("a", 1).write("one")
    assert Channel.create("a", 1).read_new() == [(os.getpid(), "one")]
    second = Channel.create("b", 1)
    remove_loader_folders("a")
    assert [path.name for path in own_folder.iterdir()] == ["sonde-b-1"]
    second.close()


def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Channel.create("a", 1)
    monkeypatch.setattr(os, "getuid", lambda: -1)
    with pytest.raises(PermissionError):
        Channel.create("a", 1)
    assert Channel.find("a", 1) is None
