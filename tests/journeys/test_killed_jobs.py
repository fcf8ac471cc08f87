"""Why a job died: signals and lack of memory."""

import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde

EAT_MEMORY = """
import sys
hoard = []
while True:
    hoard.append(bytearray(8 << 20))
    for place in range(0, 8 << 20, 4096):
        hoard[-1][place] = 1
"""
LIMIT_BYTES = 96 << 20


@pytest.fixture
def small_group() -> Iterator[Path]:
    """The process file of a control group with little memory."""
    v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    root, limit = (v1, "memory.limit_in_bytes") if v1.is_dir() else (v2, "memory.max")
    group = root / f"sonde-test-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT_BYTES))
        for swap in ("memory.swap.max", "memory.memsw.limit_in_bytes"):
            with suppress(OSError):
                (group / swap).write_text("0" if swap == "memory.swap.max" else str(LIMIT_BYTES))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no memory control group can be made here: {error}")
    yield group / "cgroup.procs"
    assert eventually(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


def test_a_killed_command_is_reported_with_its_signal(sonde: Sonde) -> None:
    launcher = sonde.start("run", "--name", "job", "sleep", "600")
    os.kill(sonde.command_pid(), signal.SIGKILL)
    assert launcher.wait(120) == 137
    exit_ = sonde.status()["exit"]
    assert (exit_["reason"], exit_["signal"]) == ("signal", "SIGKILL")


def test_an_out_of_memory_kill_is_distinguished_from_other_kills(
    sonde: Sonde, small_group: Path
) -> None:
    done = sonde.run(
        *("run", "--name", "job", PYTHON, "-c", EAT_MEMORY),
        preexec_fn=lambda: small_group.write_text(str(os.getpid())),
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 137
    exit_ = sonde.status()["exit"]
    assert exit_["reason"] == "host-out-of-memory"
    assert exit_["signal"] == "SIGKILL"
    assert "out of memory" in exit_["message"]
    assert b"out of memory" in done.stderr


def test_a_child_killed_for_lack_of_memory_is_mentioned(sonde: Sonde, small_group: Path) -> None:
    done = sonde.run(
        *("run", "--name", "job", "sh", "-c", f"{PYTHON} -c '{EAT_MEMORY}' || exit 1"),
        preexec_fn=lambda: small_group.write_text(str(os.getpid())),
    )
    assert done.returncode == 1
    exit_ = sonde.status()["exit"]
    assert exit_["reason"] == "exit"
    assert exit_["message"].startswith("exit code 1; memory ran out during the job")
