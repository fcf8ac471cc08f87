"""How loader processes and the process that trains hear of each other."""

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


def found(owner: int = 1) -> Channel:
    channel = Channel.find("a", owner)
    assert channel is not None
    return channel


def test_what_is_asked_is_seen_at_once_by_who_was_there_before() -> None:
    trains = Channel.create("a", 1)
    loads = found()
    assert (loads.number, loads.batches, loads.is_open) == (0, 0, False)
    trains.ask(5, is_open=True)
    assert (loads.number, loads.batches, loads.is_open) == (1, 5, True)
    trains.end()
    assert (loads.number, loads.is_open) == (1, False)


def test_lines_are_heard_once_and_only_when_they_are_whole() -> None:
    trains, pid = Channel.create("a", 1), os.getpid()
    loads = found()
    assert trains.hear() == []
    loads.tell("one")
    assert trains.hear() == [(pid, "one")]
    with (loader_folder("a", 1) / str(pid)).open("ab") as file:
        file.write(b"two\nthr")
        file.flush()
        assert trains.hear() == [(pid, "two")]
        file.write(b"ee\n")
    assert trains.hear() == [(pid, "three")]
    assert trains.hear() == []


def test_nobody_asks_where_nobody_trains() -> None:
    assert Channel.find("a", 1) is None


def test_nothing_is_left_behind(own_folder: Path) -> None:
    trains = Channel.create("a", 1)
    loads = found()
    loads.tell("one")
    trains.close()
    assert list(own_folder.iterdir()) == []
    assert trains.hear() == []
    with pytest.raises(FileNotFoundError):
        loads.tell("too late")


def test_who_was_killed_is_swept_up_after_and_does_not_stand_in_the_way(own_folder: Path) -> None:
    Channel.create("a", 1).tell("one")
    assert Channel.create("a", 1).hear() == [(os.getpid(), "one")]
    other = Channel.create("b", 1)
    remove_loader_folders("a")
    assert [place.name for place in own_folder.iterdir()] == ["sonde-b-1"]
    other.close()


def test_a_place_that_is_somebody_elses_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    Channel.create("a", 1)
    monkeypatch.setattr(os, "getuid", lambda: -1)
    with pytest.raises(PermissionError):
        Channel.create("a", 1)
    assert Channel.find("a", 1) is None
