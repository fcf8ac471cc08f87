"""Processes of a job get the variables they need; interrupted writes are removed at the end."""

import os
from pathlib import Path
from typing import Any

import pytest

from sonde.agent.handover import INJECT_FOLDER, Handover
from sonde.agent.outcome import Outcome
from sonde.agent.registration import Registration
from sonde.clock import SystemClock
from sonde.records.job import Exit, ExitReason, JobState, Overhead
from sonde.settings import RunSettings
from sonde.store.backends import open_backend

DEAD_PID = 2**22 + 1  # above the largest PID of Linux


class Finished:
    """A fake recording that has ended."""

    def finish(self, _exit: Exit, *, leaves_report: bool = False) -> Outcome:
        """The outcome of a recording without losses."""
        del leaves_report
        return Outcome((), Overhead(0.0, 0, 0.0), is_exit_recorded=True)


def left_by(folder: Path, *files: str) -> set[str]:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    registration = Registration("job", "a", 1, open_backend(str(folder)), is_creator=True)
    handover = Handover(registration, RunSettings(), SystemClock(), "run", None)
    exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, 1, code=0)
    recording: Any = Finished()
    handover.finish(recording, exit_)
    return {name for name in files if (folder / name).exists()}


@pytest.mark.parametrize("python_path", [None, "", "/mine"])
def test_damaged_startup_module_is_not_put_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_path: str | None
) -> None:
    registration = Registration("job", "a", 1, open_backend(str(tmp_path)), is_creator=True)
    handover = Handover(registration, RunSettings(), SystemClock(), "run", None)
    path = [str(INJECT_FOLDER), *([python_path] if python_path else [])]
    assert handover.variables(python_path)["PYTHONPATH"].split(os.pathsep) == path

    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)\n")
    monkeypatch.setattr("sonde.agent.handover.INJECT_FOLDER", tmp_path)
    variables = handover.variables(python_path)
    assert "PYTHONPATH" not in variables
    assert variables["SONDE_JOB"] == "job"


@pytest.mark.parametrize("is_own", [True, False])
def test_an_interrupted_write_of_the_launcher_is_removed(tmp_path: Path, is_own: bool) -> None:
    pid = os.getpid() if is_own else DEAD_PID
    half_written = f"nodes/a/attempt-001/.heartbeat.json.{pid}-0123abcd"
    assert left_by(tmp_path, half_written) == set()


def test_an_interrupted_write_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    assert left_by(tmp_path, "nodes/a/x", f"rules/.lease.json.{DEAD_PID}-0123abcd") == {"nodes/a/x"}


def test_files_of_running_processes_and_other_nodes_are_not_removed(tmp_path: Path) -> None:
    alive = f"workers/0/.beat.json.{os.getppid()}-0123abcd"
    assert left_by(tmp_path / "one", "nodes/a/x", alive) == {"nodes/a/x", alive}
    elsewhere = f"rules/.lease.json.{DEAD_PID}-0123abcd"
    files = {"nodes/a/x", "nodes/b/x", elsewhere}
    assert left_by(tmp_path / "two", *files) == files
