"""The data of a job reaches its object store even if the launcher is killed."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.client.job import open_job
from sonde.errors import SondeError
from tests.fakes.eventually import eventually
from tests.fakes.s3 import s3_server, use_s3_server
from tests.journeys.sonde_cli import PYTHON, Sonde

BUCKET = "sonde-no-launcher"
STEPS = 300

TRAINING = f"""
import pathlib, time, sonde
for number in range({STEPS}):
    sonde.log(loss=1 / (number + 1))
    sonde.step()
    if number == 20:
        pathlib.Path("ready").touch()
        while not pathlib.Path("end").exists(): time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with s3_server(BUCKET) as port:
        yield port


@pytest.fixture
def temporary(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which launchers create their spools."""
    use_s3_server(port, monkeypatch)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def spools(temporary: Path) -> list[Path]:
    return list(temporary.glob("sonde-workers-*"))


def steps_in(job: str) -> int:
    try:
        return len(open_job(job).steps().to_arrow())
    except SondeError:
        return 0


def start_training(sonde: Sonde, store: str) -> int:
    """Start a job that pauses during training; return the PID of its launcher.

    Its first documents are in the store, and its standby process is running.
    """
    words = ("run", "--store", store, "--name", "job", PYTHON, "-c", TRAINING)
    launcher = sonde.start(*words)
    assert eventually((sonde.folder / "ready").exists)
    assert eventually(lambda: has_reached_the_store(f"{store}/job"))
    assert eventually(lambda: standby_pids(sonde))
    return launcher.pid


def has_reached_the_store(job: str) -> bool:
    """Whether the start of the attempt is in the store."""
    try:
        return bool(open_job(job).facts.attempts)
    except SondeError:
        return False


def standby_pids(sonde: Sonde) -> list[int]:
    """Processes that send the spool, or wait until its launcher is gone."""
    return [pid for pid in sonde.processes() if b"\0send\0" in command_line(pid)]


def command_line(pid: int) -> bytes:
    """The command line of a process; empty if it has exited."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_every_step_reaches_the_store_when_the_launcher_is_killed(
    sonde: Sonde, temporary: Path
) -> None:
    store = f"s3://{BUCKET}/killed"
    os.kill(start_training(sonde, store), signal.SIGKILL)
    (sonde.folder / "end").touch()

    assert eventually(lambda: not spools(temporary))
    job = open_job(f"{store}/job")
    assert job.state.value == "lost"
    assert steps_in(f"{store}/job") == STEPS
    assert job.summary["lost"] == []
    assert eventually(lambda: not sonde.processes())


@pytest.mark.parametrize("command", ["status", "jobs", "send"])
def test_next_command_sends_the_spool_of_killed_processes(
    sonde: Sonde, temporary: Path, command: str
) -> None:
    store = f"s3://{BUCKET}/{command}"
    launcher = start_training(sonde, store)
    for pid in (*standby_pids(sonde), launcher):
        os.kill(pid, signal.SIGKILL)
    (sonde.folder / "end").touch()
    assert eventually(lambda: not sonde.processes())
    [spool] = spools(temporary)
    reasons = [row["reason"] for row in open_job(f"{store}/job").summary["lost"]]
    assert any(str(spool) in reason for reason in reasons)

    words = {"status": ("job", "--json"), "jobs": (), "send": ()}[command]
    path = () if command == "send" else ("--store", store)
    done = sonde.run(command, *words, *path)

    assert done.returncode == 0, done.stderr
    assert eventually(lambda: not spools(temporary))
    assert eventually(lambda: not sonde.processes())
    assert steps_in(f"{store}/job") == STEPS
    summary = open_job(f"{store}/job").summary
    assert (summary["state"], summary["lost"]) == ("lost", [])
    if command == "status":
        # the first status waits up to 5 s for the data to be sent, then lists it
        folders = {row["folder"] for row in json.loads(done.stdout)["unsent"]}
        assert folders <= {str(spool)}
        done = sonde.run(command, *words, *path)
        assert json.loads(done.stdout)["unsent"] == []


def test_status_lists_unsent_data_with_its_folder_and_size(sonde: Sonde, temporary: Path) -> None:
    store = f"s3://{BUCKET}/where"
    launcher = start_training(sonde, store)
    [spool] = spools(temporary)
    os.kill(launcher, signal.SIGKILL)
    done = sonde.run("status", "job", "--store", store, "--json")
    [row] = json.loads(done.stdout)["unsent"]
    assert row["folder"] == str(spool)
    assert row["bytes"] is not None
    (sonde.folder / "end").touch()
    assert eventually(lambda: not spools(temporary))
