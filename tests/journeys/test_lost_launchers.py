"""A killed launcher does not affect the command, and the job can be resumed."""

import os
import shutil
import signal
import subprocess

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import COMMAND, Sonde, is_alive

WORK = "while [ ! -e end ]; do sleep 0.05; done; echo done > result"


def test_a_killed_launcher_leaves_the_command_running_and_the_job_lost(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "--interval", "100ms", "sh", "-c", WORK)
    command = sonde.command_pid()
    assert eventually(lambda: len(sonde.samples("cpu.user_percent")[0]) >= 5)
    expected = len(sonde.samples("cpu.user_percent")[0])
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait()
    assert eventually(lambda: sonde.state() == "lost")
    assert is_alive(command)
    status = sonde.status()
    assert status["exit"] is None
    assert status["end_time"] is not None
    assert len(sonde.samples("cpu.user_percent")[0]) >= expected
    (sonde.folder / "end").touch()
    assert eventually((sonde.folder / "result").exists)
    assert eventually(lambda: not sonde.processes()), "the canary outlived the launcher"
    assert sonde.state() == "lost"


def test_a_lost_job_is_resumed_as_a_second_attempt(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    command = sonde.command_pid()
    os.kill(launcher.pid, signal.SIGKILL)
    os.kill(command, signal.SIGKILL)
    launcher.wait()
    assert eventually(lambda: sonde.state() == "lost")
    done = sonde.run("run", "--name", "job", "--resume", "sh", "-c", "exit 2")
    assert done.returncode == 2
    status = sonde.status()
    assert (status["state"], status["attempts"], status["exit_code"]) == ("failed", 2, 2)
    assert [run["state"] for run in status["runs"]] == ["lost", "failed"]
    assert sonde.run("run", "--name", "job", "--resume", "true").returncode == 0
    assert (sonde.status()["state"], sonde.status()["attempts"]) == ("completed", 3)


def test_a_running_job_is_not_resumed(sonde: Sonde) -> None:
    sonde.start("run", "--name", "job", "sleep", "600")
    sonde.command_pid()
    done = sonde.run("run", "--name", "job", "--resume", "touch", "started")
    assert done.returncode == 1
    assert b"still running" in done.stderr
    assert not (sonde.folder / "started").exists()


def test_resuming_requires_a_name(sonde: Sonde) -> None:
    done = sonde.run("run", "--resume", "touch", "started")
    assert done.returncode == 2
    assert b"--name" in done.stderr
    assert not (sonde.folder / "started").exists()


def test_a_job_whose_folder_is_removed_keeps_running(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sh", "-c", WORK, stderr=subprocess.PIPE)
    sonde.command_pid()
    sonde.job_folder("job").rename(sonde.folder / "gone")
    shutil.rmtree(sonde.folder / "gone", ignore_errors=True)
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 0
    assert launcher.stderr is not None
    errors = launcher.stderr.read()
    assert b"Traceback" not in errors
    assert b"Data lost: all earlier data: the job's folder was removed" in errors


def test_no_process_of_sonde_is_left_after_a_job(sonde: Sonde) -> None:
    assert sonde.run("run", "--name", "job", "true").returncode == 0
    assert not sonde.processes()
    remaining = subprocess.run(
        ["pgrep", "-f", str(sonde.folder)], capture_output=True, text=True, check=False
    )
    assert COMMAND[0] not in remaining.stdout
    assert remaining.stdout == ""
