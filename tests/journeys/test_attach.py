"""`sonde attach`: record a process that is already running."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import Sonde, is_alive, plain_environment


@pytest.fixture
def stranger(sonde: Sonde) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        ["sh", "-c", "sleep 600 & sleep 600 & wait"], cwd=sonde.folder, env=plain_environment()
    )
    yield process
    process.kill()
    process.wait()


def test_a_running_process_tree_is_recorded_until_it_ends(
    sonde: Sonde, stranger: "subprocess.Popen[bytes]"
) -> None:
    watcher = sonde.start("attach", str(stranger.pid), "--name", "job", "--interval", "100ms")
    assert eventually(lambda: max(sonde.samples("process_tree.processes")[1], default=0) == 3)
    assert sonde.runs()
    stranger.terminate()
    stranger.wait()
    assert watcher.wait(120) == 0
    status = sonde.status()
    assert (status["state"], status["exit"]["code"]) == ("ended", None)
    assert status["exit"]["message"].startswith("the process exited")
    assert status["runs"][0]["command"] == ["sh", "-c", "sleep 600 & sleep 600 & wait"]


def test_control_c_does_not_end_the_attached_process(
    sonde: Sonde, stranger: "subprocess.Popen[bytes]"
) -> None:
    watcher = sonde.start("attach", str(stranger.pid), "--name", "job", stderr=subprocess.PIPE)
    assert eventually(sonde.runs)
    os.killpg(watcher.pid, signal.SIGINT)
    assert watcher.wait(120) == 0
    assert is_alive(stranger.pid)
    assert sonde.status()["exit"]["message"].endswith("the process is still running")
    assert watcher.stderr is not None
    assert b"Traceback" not in watcher.stderr.read()


def test_an_attached_process_can_be_stopped(
    sonde: Sonde, stranger: "subprocess.Popen[bytes]"
) -> None:
    watcher = sonde.start("attach", str(stranger.pid), "--name", "job")
    assert eventually(sonde.runs)
    assert sonde.run("stop", "job").returncode == 0
    assert stranger.wait(120) == -signal.SIGTERM
    assert watcher.wait(120) == 0
    assert sonde.state() == "stopped"


def test_a_hang_up_does_not_end_an_attachment_under_nohup(
    sonde: Sonde, stranger: "subprocess.Popen[bytes]"
) -> None:
    watcher = sonde.start(
        *("attach", str(stranger.pid), "--name", "job"),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert eventually(sonde.runs)
    os.kill(watcher.pid, signal.SIGHUP)
    stranger.terminate()
    stranger.wait()
    assert watcher.wait(120) == 0
    assert sonde.status()["exit"]["message"].startswith("the process exited")


@pytest.mark.parametrize("pid", ["999999999", "0", "99999999999999999999"])
def test_an_unknown_process_is_a_usage_error(sonde: Sonde, pid: str) -> None:
    done = sonde.run("attach", pid, "--name", "job")
    assert done.returncode == 2
    assert pid.encode() in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not sonde.job_folder("job").exists()
