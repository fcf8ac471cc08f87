"""Commands that write or remove files do not destroy other files."""

import os
import threading
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.job import FakeJob


def test_folder_with_a_foreign_job_file_is_not_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_text('{"mine": 1}')
    (tmp_path / "thesis.txt").write_text("years of work")
    assert run_command_line(["rm", f"{tmp_path}/", "--yes", "--force"]) == 2
    assert (tmp_path / "thesis.txt").exists()
    assert "not written by Sonde" in capsys.readouterr().err


def test_export_through_a_link_writes_its_target(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "job")).record({"cpu.user_percent": [1, 2]}).end()
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.touch()
    link.symlink_to(target)
    words = ["export", str(tmp_path / "job"), "--format", "csv", "-o", str(link)]
    assert run_command_line(words) == 0
    assert link.is_symlink()
    assert "cpu.user_percent" in target.read_text()


def test_export_into_a_pipe_keeps_the_pipe(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "job")).record({"cpu.user_percent": [1, 2]}).end()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    words = ["export", str(tmp_path / "job"), "--format", "csv", "-o", str(pipe)]
    assert run_command_line(words) == 0
    reader.join(60)
    assert pipe.is_fifo()
    assert "cpu.user_percent" in read[0]


@pytest.mark.parametrize("store", ["memory://x", "local:///tmp/x", "ftp://x"])
def test_a_store_is_a_folder_or_a_bucket(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run_command_line(["run", "--store", store, "true"])
    assert exit_.value.code == 2
    assert "s3://bucket/prefix" in capsys.readouterr().err


def test_removed_current_folder_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_command_line(["jobs"]) == 1
    assert "was removed" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words", [["run", "--interval", "", "true"], ["attach", "1", "--interval", ""]]
)
def test_an_empty_interval_is_refused_in_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(words) == 2
    assert "--interval" in capsys.readouterr().err
