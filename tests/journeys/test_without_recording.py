"""The command runs even if recording is disabled or impossible."""

import signal
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import PYTHON, Sonde


def test_when_disabled_the_command_runs_as_without_sonde(sonde: Sonde) -> None:
    script = "echo $$; exit 6"
    launcher = sonde.start("run", "--name", "job", "sh", "-c", script, env={"SONDE_DISABLE": "1"})
    assert launcher.wait(120) == 6
    assert not (sonde.folder / "sonde-jobs").exists()


def test_when_disabled_sonde_is_replaced_by_the_command(sonde: Sonde) -> None:
    with (sonde.folder / "output").open("wb") as output:
        launcher = sonde.start(
            *("run", "sh", "-c", "echo $$; grep SigIgn /proc/self/status"),
            env={"SONDE_DISABLE": "1"},
            stdout=output,
        )
        assert launcher.wait(120) == 0
    pid, _, ignored = (sonde.folder / "output").read_text().split()
    assert int(pid) == launcher.pid
    assert not int(ignored, 16) & (1 << (signal.SIGPIPE - 1))


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), (".", 126)])
def test_when_disabled_a_command_that_cannot_start_has_the_usual_exit_code(
    sonde: Sonde, command: str, code: int
) -> None:
    done = sonde.run("run", command, env={"SONDE_DISABLE": "1"})
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1


def test_disable_set_to_0_does_not_disable(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", "true", env={"SONDE_DISABLE": "0"})
    assert sonde.state() == "completed"


@pytest.mark.parametrize("store", ["/proc/nope", "in-the-way/store"])
def test_a_store_that_cannot_be_written_does_not_prevent_the_command(
    sonde: Sonde, store: str
) -> None:
    (sonde.folder / "in-the-way").touch()
    done = sonde.run("run", "--store", store, PYTHON, "-c", "print('ran'); raise SystemExit(5)")
    assert (done.returncode, done.stdout) == (5, b"ran\n")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("sonde: Cannot write")
    assert "runs without recording" in line


def test_an_unknown_store_type_is_a_usage_error(sonde: Sonde) -> None:
    done = sonde.run("run", "--store", "ftp://host/x", "touch", "started")
    assert done.returncode == 2
    assert not (sonde.folder / "started").exists()
    assert not Path(sonde.folder, "ftp:").exists()
