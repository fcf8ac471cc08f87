"""The dashboard's token is stored in a private file."""

import os
import stat
from pathlib import Path

import pytest

from sonde.cli.dashboard.token import load_token


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "sonde"


def test_the_token_stays_the_same_so_that_bookmarks_keep_working(folder: Path) -> None:
    token = load_token()
    assert len(token) >= 32
    assert load_token() == token
    assert (folder / "token").read_text().strip() == token


def test_only_the_owner_can_read_the_token(folder: Path) -> None:
    before = os.umask(0)
    try:
        load_token()
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "short", "x" * 5000, "with space" * 5, "\udcff" * 40])
def test_file_without_a_token_is_replaced(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / "token").write_bytes(content.encode(errors="surrogateescape"))
    (folder / "token").chmod(0o600)
    token = load_token()
    assert token != content
    assert load_token() == token


def test_a_token_that_others_could_read_is_replaced(folder: Path) -> None:
    token = load_token()
    (folder / "token").chmod(0o644)
    renewed = load_token()
    assert renewed != token
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    token = load_token()
    (folder / "token").rename(tmp_path / "elsewhere")
    (folder / "token").symlink_to(tmp_path / "elsewhere")
    assert load_token() != token
    assert (tmp_path / "elsewhere").read_text().strip() == token


def test_without_a_writable_folder_each_run_has_its_own_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert len({load_token() for _ in range(3)}) == 3


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_state_folder_is_in_the_home_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    token = load_token()
    assert (tmp_path / ".local/state/sonde/token").read_text().strip() == token
