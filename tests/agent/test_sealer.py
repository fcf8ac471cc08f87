"""Sealing in a separate process, one at a time, with a time limit at the end."""

import sys
from pathlib import Path

from sonde.agent.sealer import Sealer, sealing_command
from sonde.clock import SystemClock
from tests.fakes.eventually import eventually


def sealer(tmp_path: Path, code: str, every_seconds: float = 0.0) -> Sealer:
    mark = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')"
    command = (sys.executable, "-S", "-c", f"{mark}\n{code}")
    return Sealer(command, SystemClock(), every_seconds)


def runs(tmp_path: Path) -> int:
    path = tmp_path / "runs"
    return len(path.read_text()) if path.exists() else 0


def test_sealer_runs_once_per_newly_closed_segments(tmp_path: Path) -> None:
    instance = sealer(tmp_path, "pass")
    instance.seal(0)
    instance.seal(1)
    assert eventually(lambda: not instance._process.is_running())
    assert instance.cpu_seconds > 0
    instance.seal(1)
    assert runs(tmp_path) == 1
    instance.seal(2)
    assert eventually(lambda: not instance._process.is_running())
    assert runs(tmp_path) == 2
    instance.seal_all(60)
    assert runs(tmp_path) == 3


def test_sealer_waits_for_its_interval(tmp_path: Path) -> None:
    instance = sealer(tmp_path, "pass", every_seconds=3600)
    instance.seal(5)
    assert runs(tmp_path) == 0
    instance.seal_all(60)
    assert runs(tmp_path) == 1


def test_only_one_sealing_process_runs(tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    instance = sealer(tmp_path, f"import os\nwhile not os.path.exists({str(go_on)!r}): pass")
    for closed in range(1, 20):
        instance.seal(closed)
    go_on.touch()
    instance.seal_all(60)
    assert runs(tmp_path) == 2


def test_hanging_sealer_does_not_delay_the_end(tmp_path: Path) -> None:
    clock = SystemClock()
    instance = sealer(tmp_path, "import time; time.sleep(600)")
    instance.seal(1)
    started = clock.seconds()
    instance.seal_all(0.2)
    assert clock.seconds() - started < 60


def test_the_command_seals_that_node_only() -> None:
    words = sealing_command("/jobs/resnet", "node-a", 1000)
    assert words[1:] == (
        *("-P", "-m", "sonde", "compact", "/jobs/resnet"),
        *("--node", "node-a", "--budget", "1000B", "--quiet"),
    )
