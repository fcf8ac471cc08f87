"""Signals reach the command exactly once, whoever they were sent to."""

import os
import signal
import subprocess
import time

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import (
    COMMAND,
    PYTHON,
    REPORTER,
    Sonde,
    plain_environment,
    process_state,
)

SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def finish(sonde: Sonde, launcher: "subprocess.Popen[bytes]") -> list[str]:
    """Lets the reporter end by itself; what it has seen."""
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 7
    return sonde.seen()


def test_signals_to_the_launcher_alone_reach_the_command_once(sonde: Sonde) -> None:
    launcher = sonde.start_reporter(*SIGNALS)
    for count, name in enumerate(SIGNALS, 1):
        os.kill(launcher.pid, signal.Signals[name])
        assert sonde.has_seen(count)
    assert finish(sonde, launcher) == list(SIGNALS)
    assert sonde.status()["exit_code"] == 7


def test_signals_to_the_whole_group_reach_the_command_once(sonde: Sonde) -> None:
    launcher = sonde.start_reporter(*SIGNALS)
    for count, name in enumerate(SIGNALS, 1):
        os.killpg(launcher.pid, signal.Signals[name])
        assert sonde.has_seen(count)
    assert finish(sonde, launcher) == list(SIGNALS)


def test_a_signal_to_the_group_and_a_later_one_to_us_are_two(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGTERM")
    os.killpg(launcher.pid, signal.SIGTERM)
    assert sonde.has_seen(1)
    time.sleep(2)  # not to wait for anything: two that come together count as one
    os.kill(launcher.pid, signal.SIGTERM)
    assert sonde.has_seen(2)
    assert finish(sonde, launcher) == ["SIGTERM"] * 2


def test_timeout_ends_a_command_as_without_us(sonde: Sonde) -> None:
    words = ("run", "--name", "job", PYTHON, "-c", REPORTER, "SIGTERM")
    watched = subprocess.Popen(
        ["timeout", "--kill-after=120", "600", *COMMAND, *words],
        cwd=sonde.folder,
        env=plain_environment(),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert eventually((sonde.folder / "ready").exists)
    watched.send_signal(signal.SIGALRM)  # its alarm clock, which rings when the time is over
    assert eventually(lambda: bool(sonde.seen()))
    (sonde.folder / "end").touch()
    assert watched.wait(120) == 124
    assert sonde.seen() == ["SIGTERM"]
    assert sonde.status()["exit_code"] == 7


def test_a_command_in_a_group_of_its_own_gets_them_too(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "setsid", PYTHON, "-c", REPORTER, "SIGTERM")
    assert eventually((sonde.folder / "ready").exists)
    os.killpg(launcher.pid, signal.SIGTERM)
    assert eventually(sonde.seen)
    assert finish(sonde, launcher) == ["SIGTERM"]


def test_whoever_looks_for_us_by_name_does_not_find_the_canary(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGTERM")
    command = sonde.command_pid()

    def result() -> set[str]:
        words = ["pgrep", "-f", "--", "sonde run"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return {*done.stdout.split()} & {str(pid) for pid in sonde.processes()} - {str(command)}

    # a process that is about to become another program has our name for a moment
    assert eventually(lambda: result() == {str(launcher.pid)})
    finish(sonde, launcher)


def test_a_signal_that_comes_at_the_very_first_moment_is_not_lost(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    assert eventually(lambda: sonde.job_folder("job").exists())
    os.kill(launcher.pid, signal.SIGTERM)
    assert launcher.wait(120) in (143, -signal.SIGTERM)


def test_signals_during_the_end_do_not_change_the_exit_code(sonde: Sonde) -> None:
    launcher = sonde.start(
        *("run", "--name", "job", "sh", "-c", "trap '' TERM USR1; touch ready; exit 3"),
        stderr=subprocess.PIPE,
    )
    assert eventually((sonde.folder / "ready").exists)
    while launcher.poll() is None:
        launcher.send_signal(signal.SIGTERM)
        launcher.send_signal(signal.SIGUSR1)
    assert launcher.returncode == 3
    assert launcher.stderr is not None
    message = launcher.stderr.read()
    assert b"Traceback" not in message, message.decode()


@pytest.mark.parametrize("whom", ["command", "launcher"])
def test_suspending_the_command_alone_suspends_us_and_going_on_goes_on(
    sonde: Sonde, whom: str
) -> None:
    launcher = sonde.start_reporter("SIGUSR1")
    command = sonde.command_pid()
    os.kill(command, signal.SIGSTOP)
    assert eventually(lambda: process_state(launcher.pid) == "T")
    os.kill(command if whom == "command" else launcher.pid, signal.SIGCONT)
    assert eventually(lambda: process_state(command) != "T")
    assert eventually(lambda: process_state(launcher.pid) != "T")
    os.kill(launcher.pid, signal.SIGUSR1)
    assert eventually(sonde.seen)
    assert finish(sonde, launcher) == ["SIGUSR1"]


def test_a_suspended_command_that_is_killed_does_not_leave_us_suspended(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGUSR1")
    command = sonde.command_pid()
    os.kill(command, signal.SIGSTOP)
    assert eventually(lambda: process_state(launcher.pid) == "T")
    os.kill(command, signal.SIGKILL)
    assert launcher.wait(120) == 137
    assert sonde.status()["exit"]["signal"] == "SIGKILL"
