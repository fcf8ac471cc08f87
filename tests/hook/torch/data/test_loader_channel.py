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
    training = Channel.create("a", 1)
    loader = find_channel()
    assert (loader.number, loader.batches, loader.is_open) == (0, 0, False)
    training.request(5, is_open=True)
    assert (loader.number, loader.batches, loader.is_open) == (1, 5, True)
    training.end()
    assert (loader.number, loader.is_open) == (1, False)


def test_lines_are_read_once_and_only_when_complete() -> None:
    training, pid = Channel.create("a", 1), os.getpid()
    loader = find_channel()
    assert training.read_new() == []
    loader.write("one")
    assert training.read_new() == [(pid, "one")]
    with (loader_folder("a", 1) / str(pid)).open("ab") as file:
        file.write(b"two\nthr")
        file.flush()
        assert training.read_new() == [(pid, "two")]
        file.write(b"ee\n")
    assert training.read_new() == [(pid, "three")]
    assert training.read_new() == []


def test_no_channel_is_found_without_a_training_process() -> None:
    assert Channel.find("a", 1) is None


def test_closing_a_channel_removes_its_folder(own_folder: Path) -> None:
    training = Channel.create("a", 1)
    loader = find_channel()
    loader.write("one")
    training.close()
    assert list(own_folder.iterdir()) == []
    assert training.read_new() == []
    with pytest.raises(FileNotFoundError):
        loader.write("too late")


def test_the_folder_of_a_killed_process_is_reused_and_removed(own_folder: Path) -> None:
    Channel.create("a", 1).write("one")
    assert Channel.create("a", 1).read_new() == [(os.getpid(), "one")]
    second = Channel.create("b", 1)
    remove_loader_folders("a")
    assert [path.name for path in own_folder.iterdir()] == ["sonde-b-1"]
    second.close()


def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Channel.create("a", 1)
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    with pytest.raises(PermissionError):
        Channel.create("a", 1)
    assert Channel.find("a", 1) is None


def test_a_link_that_another_user_planted_is_not_followed(own_folder: Path) -> None:
    mine = own_folder / "mine"
    mine.mkdir()
    (mine / "7").write_text("precious")
    loader_folder("a", 1).symlink_to(mine)
    with pytest.raises(PermissionError):
        Channel.create("a", 1)
    assert Channel.find("a", 1) is None
    remove_loader_folders("a")
    assert [file.read_text() for file in mine.iterdir()] == ["precious"]
