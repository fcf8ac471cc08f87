"""`sonde run` exits with the code of the command, and the status shows it."""

import json
import resource
import signal
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import Sonde


def test_a_successful_command_exits_with_0(sonde: Sonde) -> None:
    assert sonde.run("run", "--name", "job", "true").returncode == 0
    status = sonde.status()
    assert (status["state"], status["exit_code"]) == ("completed", 0)
    assert status["exit"]["reason"] == "exit"
    assert status["exit"]["signal"] is None
    assert status["exit"]["message"] is None
    assert status["attempts"] == 1
    assert status["lost"] == []


def test_a_failing_command_keeps_its_exit_code(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "sh", "-c", "exit 3")
    assert done.returncode == 3
    status = sonde.status()
    assert (status["state"], status["exit"]["code"]) == ("failed", 3)
    assert status["exit"]["reason"] == "exit"
    assert status["exit"]["message"] == "exit code 3"
    assert b": exit code 3. Overhead:" in done.stderr


@pytest.mark.parametrize("descriptors", [6, 7, 8, 9, 10])
def test_job_is_announced_only_if_it_can_be_recorded(sonde: Sonde, descriptors: int) -> None:
    limit = (descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    done = sonde.run(
        *("run", "--name", "job", "sh", "-c", "exit 7"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit),
    )
    assert done.returncode == 7
    lines = done.stderr.decode().splitlines()
    is_recorded = lines[0].startswith("sonde: Recording job.")
    assert is_recorded or "cannot be recorded" in lines[0]
    assert (sonde.folder / "sonde-jobs" / "job").exists() == is_recorded


def test_a_missing_command_exits_with_127(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "no-such-command")
    assert done.returncode == 127
    status = sonde.status()
    assert (status["state"], status["exit_code"]) == ("failed", 127)
    assert status["exit"]["message"] == "no-such-command: no such file or directory"
    assert b"Traceback" not in done.stderr


def test_a_command_that_cannot_be_executed_exits_with_126(sonde: Sonde) -> None:
    (sonde.folder / "notes.txt").write_text("not a program")
    done = sonde.run("run", "--name", "job", "./notes.txt")
    assert done.returncode == 126
    assert sonde.status()["exit"]["message"] == "./notes.txt: permission denied"
    assert sonde.run("run", "--name", "folder", ".").returncode == 126


def test_a_script_without_a_shebang_runs_as_in_a_shell(sonde: Sonde) -> None:
    script = sonde.folder / "train"
    script.write_text('test "$1" = two && exit 5\n')
    script.chmod(0o755)
    assert sonde.run("run", "--name", "job", "./train", "two").returncode == 5


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGTERM"])
def test_a_command_killed_by_a_signal_exits_with_128_plus_its_number(
    sonde: Sonde, name: str
) -> None:
    number = signal.Signals[name]
    done = sonde.run("run", "--name", "job", "sh", "-c", f"ulimit -c 0; kill -{number} $$")
    assert done.returncode == 128 + number
    exit_ = sonde.status()["exit"]
    assert (exit_["code"], exit_["signal"]) == (128 + number, name)
    assert exit_["reason"] == "signal"
    assert exit_["message"].startswith(f"killed by {name}")


def test_a_real_time_signal_is_named(sonde: Sonde) -> None:
    number = signal.SIGRTMIN + 3
    done = sonde.run("run", "--name", "job", "sh", "-c", f"kill -{number} $$")
    assert done.returncode == 128 + number
    assert sonde.status()["exit"]["signal"] == "SIGRTMIN+3"


def test_the_status_command_prints_one_json_document(sonde: Sonde, tmp_path: Path) -> None:
    sonde.run("run", "--name", "job", "sh", "-c", "exit 4")
    done = sonde.run("status", "job", "--json")
    assert done.returncode == 0
    assert done.stderr == b""
    document = json.loads(done.stdout)
    assert document["job"] == "job"
    assert document["exit"]["code"] == 4
    assert document["exit"]["left_running"] == []
    assert document["runs"][0]["command"] == ["sh", "-c", "exit 4"]
    assert document["runs"][0]["folder"] == str(tmp_path)
    assert 0 < document["duration_seconds"] < 150


def test_the_exit_code_is_known_even_if_the_caller_ignores_sigchld(sonde: Sonde) -> None:
    done = sonde.run(
        *("run", "--name", "job", "sh", "-c", "exit 3"),
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert done.returncode == 3
    assert sonde.status()["exit_code"] == 3
