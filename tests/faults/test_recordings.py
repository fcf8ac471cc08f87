"""Recordings of programs are reused until the recorder or the program changes."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults import recordings
from tests.faults.catalog import PROGRAMS
from tests.faults.program import Variant
from tests.faults.recordings import Run, record

RUN = Run(PROGRAMS[0], Variant.HEALTHY, 3)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that were trained because no recording could be reused."""
    runs: list[Run] = []

    def train(run: Run, folder: Path, _python: Sequence[str]) -> int:
        (folder / "job").mkdir()
        runs.append(run)
        return 0

    monkeypatch.setattr(recordings, "_train", train)
    return runs


def test_a_run_is_trained_only_once(tmp_path: Path, trained: list[Run]) -> None:
    first, second = record(RUN, tmp_path), record(RUN, tmp_path)
    assert trained == [RUN]
    assert first == second
    assert Path(first.job).is_dir()


def test_a_changed_recorder_makes_a_new_recording(
    tmp_path: Path, trained: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = record(RUN, tmp_path)
    monkeypatch.setattr(recordings, "_digest", lambda program: "another")
    assert record(RUN, tmp_path, accept_stale=True) == first
    second = record(RUN, tmp_path)
    assert trained == [RUN, RUN]
    assert not Path(first.job).exists()
    assert Path(second.job).is_dir()


def test_a_changed_label_keeps_the_recording(
    tmp_path: Path, trained: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = RUN.program.path.read_text()
    relabeled = source.replace('"set": ', '"exit_code": 3, "set": ')
    first = record(RUN, tmp_path)
    with monkeypatch.context() as edited:
        edited.setattr(Path, "read_text", lambda path: relabeled)
        digest = recordings._digest(RUN.program)
    assert relabeled != source
    assert Path(first.job).parent.name.endswith(digest)


def test_an_interrupted_training_is_repeated(
    tmp_path: Path, trained: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: Run, folder: Path, _python: Sequence[str]) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(recordings, "_train", fail)
        with pytest.raises(KeyboardInterrupt):
            record(RUN, tmp_path)
    assert record(RUN, tmp_path).code == 0
    assert trained == [RUN]


def test_a_timeout_is_an_error_of_that_run_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 180)

    monkeypatch.setattr(subprocess, "run", run)
    assert record(RUN, tmp_path).code == 124
    assert not list(tmp_path.rglob("ended.json"))
