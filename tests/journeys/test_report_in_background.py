"""A terminal is back before a slow report is written."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.clock import SystemClock
from sonde.store.backends import open_backend
from sonde.store.report_writing import mark_report
from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde
from tests.journeys.terminal import Terminal

_IS_AWAITED = "from sonde.agent.terminal import is_awaited; print(is_awaited())"
_TRAIN = """
import sonde
for step in range(20):
    sonde.log(loss=1 / (step + 1))
    sonde.step()
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    screen = Terminal(tmp_path, columns=300)
    screen.start_shell()
    yield screen
    screen.close()


def test_only_a_command_of_an_interactive_shell_is_awaited(terminal: Terminal) -> None:
    command = f'{sys.executable} -c "{_IS_AWAITED}"'
    assert "True" in terminal.enter(command)
    assert "False" in terminal.enter(f"echo '{command}; true' > script; bash script")
    assert "False" in terminal.enter(f"{command} < /dev/null")


def test_a_report_appears_after_the_terminal_is_back(sonde: Sonde) -> None:
    (sonde.folder / "train.py").write_text(_TRAIN)
    terminal = Terminal(sonde.folder, columns=300)
    terminal.start_shell()
    try:
        run = "-m sonde run --rules LossNotDecreasing --name job"
        shown = terminal.enter(f"{sys.executable} {run} -- {PYTHON} train.py")
    finally:
        terminal.close()
    folder = sonde.job_folder("job") / "report"
    assert f"{folder}/report.html" in shown
    assert eventually((folder / "report.html").exists)
    assert eventually(lambda: not (folder / "writing.json").exists())
    assert "report " not in sonde.run("status", "job").stdout.decode()


def test_an_interrupted_report_is_shown_and_replaced(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", "--no-report", PYTHON, "-c", "pass")
    backend = open_backend(str(sonde.job_folder("job")))
    with subprocess.Popen(
        [PYTHON, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as process:
        mark_report(backend, SystemClock(), process.pid)
        assert _report_state(sonde) == "being written"
    left = sonde.job_folder("job") / "report" / f".report.html.{2**22 + 1}-0123abcd"
    shutil.copy(sonde.job_folder("job") / "report" / "writing.json", left)
    assert _report_state(sonde).startswith("interrupted while it was being written")
    assert "interrupted while" in sonde.run("status", "job").stdout.decode()
    assert sonde.run("report", "job").returncode == 0
    assert sorted(path.name for path in left.parent.iterdir()) == [
        "report.html",
        "report.json",
        "rules",
    ]
    assert not _report_state(sonde)


def _report_state(sonde: Sonde) -> str:
    state: str = json.loads(sonde.run("status", "job", "--json").stdout)["report"]
    return state
