"""Signals reach the command exactly once, whether sent to it, the launcher or the group."""

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
    """Let the reporter exit and return the signals it received."""
    (sonde.folder / "end").touch()
    assert launcher.wait(120) == 7
    return sonde.received_signals()


def test_signals_to_the_launcher_alone_reach_the_command_once(sonde: Sonde) -> None:
    launcher = sonde.start_reporter(*SIGNALS)
    for count, name in enumerate(SIGNALS, 1):
        os.kill(launcher.pid, signal.Signals[name])
        assert sonde.has_received(count)
    assert finish(sonde, launcher) == list(SIGNALS)
    assert sonde.status()["exit_code"] == 7


def test_signals_to_the_whole_group_reach_the_command_once(sonde: Sonde) -> None:
    launcher = sonde.start_reporter(*SIGNALS)
    for count, name in enumerate(SIGNALS, 1):
        os.killpg(launcher.pid, signal.Signals[name])
        assert sonde.has_received(count)
    assert finish(sonde, launcher) == list(SIGNALS)


def test_a_signal_to_the_group_and_a_later_one_to_the_launcher_both_arrive(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGTERM")
    os.killpg(launcher.pid, signal.SIGTERM)
    assert sonde.has_received(1)
    time.sleep(2)  # two signals that arrive together count as one
    os.kill(launcher.pid, signal.SIGTERM)
    assert sonde.has_received(2)
    assert finish(sonde, launcher) == ["SIGTERM"] * 2


def test_timeout_ends_a_command_as_without_sonde(sonde: Sonde) -> None:
    words = ("run", "--name", "job", PYTHON, "-c", REPORTER, "SIGTERM")
    watched = subprocess.Popen(
        ["timeout", "--kill-after=120", "600", *COMMAND, *words],
        cwd=sonde.folder,
        env=plain_environment(),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert eventually((sonde.folder / "ready").exists)
    watched.send_signal(signal.SIGALRM)  # the timer of `timeout`
    assert eventually(lambda: bool(sonde.received_signals()))
    (sonde.folder / "end").touch()
    assert watched.wait(120) == 124
    assert sonde.received_signals() == ["SIGTERM"]
    assert sonde.status()["exit_code"] == 7


def test_a_command_in_its_own_process_group_gets_signals(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "setsid", PYTHON, "-c", REPORTER, "SIGTERM")
    assert eventually((sonde.folder / "ready").exists)
    os.killpg(launcher.pid, signal.SIGTERM)
    assert eventually(sonde.received_signals)
    assert finish(sonde, launcher) == ["SIGTERM"]


def test_a_search_by_name_finds_the_launcher_but_not_the_watchdog(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGTERM")
    command = sonde.command_pid()

    def result() -> set[str]:
        words = ["pgrep", "-f", "--", "sonde run"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return {*done.stdout.split()} & {str(pid) for pid in sonde.processes()} - {str(command)}

    # a process has the name of its parent until it executes another program
    assert eventually(lambda: result() == {str(launcher.pid)})
    finish(sonde, launcher)


def test_a_signal_right_after_the_start_is_not_lost(sonde: Sonde) -> None:
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


@pytest.mark.parametrize("target", ["command", "launcher"])
def test_suspending_the_command_suspends_the_launcher_until_it_continues(
    sonde: Sonde, target: str
) -> None:
    launcher = sonde.start_reporter("SIGUSR1")
    command = sonde.command_pid()
    os.kill(command, signal.SIGSTOP)
    assert eventually(lambda: process_state(launcher.pid) == "T")
    os.kill(command if target == "command" else launcher.pid, signal.SIGCONT)
    assert eventually(lambda: process_state(command) != "T")
    assert eventually(lambda: process_state(launcher.pid) != "T")
    os.kill(launcher.pid, signal.SIGUSR1)
    assert eventually(sonde.received_signals)
    assert finish(sonde, launcher) == ["SIGUSR1"]


def test_killing_a_suspended_command_resumes_the_launcher(sonde: Sonde) -> None:
    launcher = sonde.start_reporter("SIGUSR1")
    command = sonde.command_pid()
    os.kill(command, signal.SIGSTOP)
    assert eventually(lambda: process_state(launcher.pid) == "T")
    os.kill(command, signal.SIGKILL)
    assert launcher.wait(120) == 137
    assert sonde.status()["exit"]["signal"] == "SIGKILL"
