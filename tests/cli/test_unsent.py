"""`sonde status` lists the data on this machine that has not reached the object store."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.cli._main import run_command_line
from sonde.records.job import Attempt, JobInfo, Launcher
from sonde.store import layout
from sonde.store.backends.memory import Memory
from sonde.store.facts import encode_facts
from sonde.store.presence import this_process
from sonde.store.spool import Spool, SpoolFacts

START = layout.attempt_key("a", 1, "start")
BEAT = layout.worker_key(0, 1, 0, "beat")


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Memory:
    target = Memory(f"memory://{request.node.nodeid}/job")
    target.write(layout.JOB, encode_facts(JobInfo("job", 0, "a"), layout.JOB))
    return target


@pytest.fixture
def spool(target: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spool:
    """A locked spool with two files, so that no command starts to send it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool.create(SpoolFacts(target.uri, "a", 1, "a run without processes"))
    monkeypatch.setattr("sonde.cli._spools._WAIT_SECONDS", 0.0)
    spool.source.write(START, encode_facts(attempt(spool), START))
    spool.source.write(BEAT, b"a heartbeat")
    return spool


def attempt(spool: Spool, launcher: Launcher | None = None) -> Attempt:
    """An attempt, by default one whose launcher was killed."""
    launcher = launcher or Launcher(0, "", "")
    return Attempt("a", 1, 1, ("true",), "/", 0, launcher, 1.0, spool=str(spool.folder))


def unsent(target: Memory, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run_command_line(["status", target.uri, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["unsent"]
    return rows


def test_spool_is_listed_if_none_of_its_files_has_arrived(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    size = sum(entry.size for entry in spool.source.entries(""))
    row = {"node": "a", "folder": str(spool.folder), "files": 2, "bytes": size}
    assert unsent(target, capsys) == [row]


def test_spool_of_a_known_attempt_is_listed_once(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    target.write(START, spool.source.read(START))
    row = {"node": "a", "folder": str(spool.folder), "files": 1, "bytes": len(b"a heartbeat")}
    assert unsent(target, capsys) == [row]


def test_spool_of_a_running_attempt_is_not_listed(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    target.write(START, encode_facts(attempt(spool, this_process()), START))
    assert unsent(target, capsys) == []


def test_spool_of_another_job_is_not_listed(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    neighbor = Memory(f"{target.uri}-2")
    neighbor.write(layout.JOB, target.read(layout.JOB))
    assert unsent(neighbor, capsys) == []


def test_spool_whose_files_have_arrived_is_not_listed(
    spool: Spool, target: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    spool.source.delete([START])
    target.write(BEAT, spool.source.read(BEAT))
    assert unsent(target, capsys) == []
