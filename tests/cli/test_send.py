"""`sonde send`: send the spools of this machine."""

from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.store.backends.memory import Memory
from sonde.store.layout import JOB, worker_key
from sonde.store.spool import Spool, SpoolFacts

KEY = worker_key(0, 1, 0, "beat")


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Memory:
    target = Memory(f"memory://{request.node.nodeid}/job")
    target.write(JOB, b"{}")
    return target


@pytest.fixture
def spool(target: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spool:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool.create(SpoolFacts(target.uri, "node", 1, "a run that nobody has"))
    spool.source.write(KEY, b"a beat")
    return spool


def test_everything_on_this_machine_is_sent(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    spool.release()
    (spool.folder.parent / "sonde-workers-000").mkdir()  # not a spool: reported, others are sent
    assert run_command_line(["send"]) == 1
    (spool.folder.parent / "sonde-workers-000").rmdir()
    assert target.read(KEY) == b"a beat"
    assert not spool.folder.exists()
    assert f"{target.uri}: all data sent" in capsys.readouterr().err

    assert run_command_line(["send"]) == 0
    assert "Nothing to send." in capsys.readouterr().out


def test_spool_of_another_process_is_skipped(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["send", str(spool.folder)]) == 0
    assert not target.exists(KEY)
    assert "another process is sending it" in capsys.readouterr().err
    spool.release()


def test_unsent_spool_is_reported_with_folder_and_reason(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    spool.release()
    target.delete([JOB])
    assert run_command_line(["send"]) == 1
    output = capsys.readouterr().err
    assert str(spool.folder) in output
    assert "removed from the store" in output
    assert spool.folder.exists()


def test_missing_folder_and_non_spool_are_one_line_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["send", str(tmp_path / "nowhere")]) == 2
    assert run_command_line(["send", str(tmp_path)]) == 1
    output = capsys.readouterr().err.splitlines()
    assert len(output) == 2
    assert "does not exist" in output[0]
