"""`sonde rm` removes the named jobs, but none that is running."""

import json
import os
import signal

from tests.journeys.sonde_cli import COMMAND, Sonde
from tests.journeys.terminal import Terminal


def test_a_job_is_removed_completely(sonde: Sonde) -> None:
    for name in ("old", "kept"):
        sonde.run("run", "--name", name, "true")
    done = sonde.run("rm", "old", "--yes", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["removed"] == ["old"]
    assert document["bytes_freed"] > 1000
    assert not sonde.job_folder("old").exists()
    assert sonde.state("kept") == "completed"


def test_a_job_can_be_removed_by_its_path(finished: Sonde) -> None:
    assert finished.run("rm", "sonde-jobs/job/", "--yes").returncode == 0
    assert not finished.job_folder("job").exists()


def test_a_running_job_is_not_removed(sonde: Sonde) -> None:
    sonde.start("run", "--name", "job", "sleep", "600")
    sonde.command_pid()
    done = sonde.run("rm", "job", "--yes")
    assert done.returncode == 2
    assert b"is running" in done.stderr
    assert sonde.runs()


def test_a_forced_removal_of_a_running_job_keeps_later_data_and_says_so(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    os.kill(sonde.command_pid(), 0)
    done = sonde.run("rm", "job", "--yes", "--force")
    assert done.returncode == 0
    assert b"job is still running" in done.stderr
    assert b"keeps recording" in done.stderr
    launcher.send_signal(signal.SIGTERM)
    launcher.wait(30)
    status = sonde.run("status", "job", "--json")
    lost = json.loads(status.stdout)["lost"]
    assert any("folder was removed" in loss["reason"] for loss in lost)


def test_nothing_is_removed_without_confirmation(finished: Sonde) -> None:
    done = finished.run("rm", "job")
    assert done.returncode == 2
    assert b"Add --yes" in done.stderr
    assert b"Confirm" not in done.stderr
    assert finished.job_folder("job").exists()


def test_removal_can_be_confirmed_on_a_terminal(finished: Sonde, terminal: Terminal) -> None:
    terminal.start([*COMMAND, "rm", "job"])
    terminal.expect("Permanently remove job? [y/N] ")
    terminal.type("\x04")  # end of input means no
    assert terminal.wait() == 1
    assert "Nothing removed." in terminal.shown
    assert "Traceback" not in terminal.shown
    terminal.start([*COMMAND, "rm", "job"])
    terminal.expect("Permanently remove job? [y/N] ")
    terminal.type("y\n")
    assert terminal.wait() == 0
    assert not finished.job_folder("job").exists()


def test_no_job_is_removed_if_one_of_several_is_unknown(finished: Sonde) -> None:
    done = finished.run("rm", "job", "nobody", "--yes")
    assert done.returncode == 1
    assert finished.job_folder("job").exists()
