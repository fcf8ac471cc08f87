"""Requests to a running job: stop it or change its sampling."""

import json
import time
from itertools import pairwise
from statistics import median

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde, is_alive

POLITE = "trap 'echo bye > bye; exit 9' TERM; touch ready; while :; do sleep 0.05; done"
STUBBORN_FAMILY = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = os.fork()
if worker:
    pathlib.Path("worker").write_text(str(worker))
time.sleep(600)
"""
LEFT_BEHIND = "trap 'exit 0' TERM; sleep 600 & echo $! > worker; wait"


def written_pid(sonde: Sonde) -> int:
    path = sonde.folder / "worker"
    assert eventually(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def test_a_job_is_stopped_by_sigterm(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sh", "-c", POLITE)
    assert eventually((sonde.folder / "ready").exists)
    assert eventually(sonde.runs)
    done = sonde.run("stop", "job", "--json")
    assert done.returncode == 0
    (reply,) = json.loads(done.stdout)["replies"].values()
    assert reply["done"] is True
    assert launcher.wait(120) == 9
    assert (sonde.folder / "bye").exists()
    status = sonde.status()
    assert (status["state"], status["exit"]["reason"]) == ("stopped", "stopped")
    assert status["exit"]["code"] == 9
    assert status["exit"]["message"].startswith("stopped by ")


def test_a_command_that_ignores_sigterm_is_killed_with_its_children(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", PYTHON, "-c", STUBBORN_FAMILY)
    worker = written_pid(sonde)
    sonde.command_pid()
    done = sonde.run("stop", "job", "--grace", "500ms")
    assert b"SIGKILL follows after 500 ms" in done.stdout
    assert launcher.wait(120) == 137
    assert eventually(lambda: not is_alive(worker))
    assert sonde.status()["state"] == "stopped"
    assert sonde.status()["exit"]["left_running"] == []


def test_processes_left_by_a_stopped_command_are_stopped(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sh", "-c", LEFT_BEHIND)
    worker = written_pid(sonde)
    assert eventually(sonde.runs)
    sonde.run("stop", "job")
    assert launcher.wait(120) == 0
    assert not is_alive(worker)
    assert sonde.status()["exit"]["left_running"] == []


def test_a_stop_request_right_after_the_start_is_obeyed(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    assert eventually(sonde.runs)
    assert sonde.run("stop", "job").returncode == 0
    assert launcher.wait(120) == 143
    assert sonde.state() == "stopped"


def test_a_shorter_interval_takes_effect_at_once(sonde: Sonde) -> None:
    sonde.start("run", "--name", "job", "--interval", "5s", "sleep", "600")
    assert eventually(sonde.runs)
    done = sonde.run("set", "job", "interval=100ms")
    assert done.returncode == 0
    assert b"Sampling every 100 ms" in done.stdout
    assert eventually(lambda: len(sonde.samples("cpu.user_percent")[0]) >= 12)
    times, _ = sonde.samples("cpu.user_percent")
    assert median(late - early for early, late in pairwise(times[-10:])) < 2.5
    assert [notice["what"] for notice in sonde.status()["notices"]] == ["interval"]


def test_monitoring_can_be_switched_off_and_on(sonde: Sonde) -> None:
    sonde.start("run", "--name", "job", "--interval", "100ms", "sleep", "600")
    assert eventually(sonde.runs)
    assert sonde.run("set", "job", "monitoring=off").returncode == 0
    off = time.time()
    assert eventually(lambda: time.time() > off + 0.5)
    on = time.time()
    assert sonde.run("set", "job", "monitoring=on").returncode == 0
    assert eventually(lambda: sonde.samples("cpu.user_percent")[0][-1:] > [on])
    times, _ = sonde.samples("cpu.user_percent")
    assert not [instant for instant in times if off < instant < on]


@pytest.mark.parametrize("change", ["interval=1ms", "speed=fast", "interval"])
def test_an_invalid_change_is_a_usage_error(finished: Sonde, change: str) -> None:
    done = finished.run("set", "job", change)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_requests_to_a_finished_job_are_refused(finished: Sonde) -> None:
    for words in (("stop", "job"), ("set", "job", "interval=100ms")):
        done = finished.run(*words)
        assert done.returncode == 1
        assert done.stderr == b"sonde: Job 'job' is not running (completed).\n"


def test_a_resumed_job_ignores_old_requests(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    assert eventually(sonde.runs)
    sonde.run("stop", "job")
    launcher.wait(120)
    repeated = sonde.start("run", "--name", "job", "--resume", "sleep", "1")
    assert repeated.wait(120) == 0
    assert sonde.state() == "completed"
