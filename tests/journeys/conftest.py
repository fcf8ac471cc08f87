"""Fixtures of journeys: a folder, a terminal, and default signal handling."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.scripts import ENVIRONMENT, Scripts
from tests.journeys.sonde_cli import PYTHON, STORE, Sonde
from tests.journeys.terminal import Terminal
from tests.journeys.warm_python import WarmPython

_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP)


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Restore default signals, which nohup or a background shell ignores for all commands."""
    ignored = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def sonde(tmp_path: Path) -> Iterator[Sonde]:
    sonde = Sonde(tmp_path)
    yield sonde
    sonde.close()


@pytest.fixture(scope="session")
def store_of_finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a finished job, recorded once for all tests that need one."""
    sonde = Sonde(tmp_path_factory.mktemp("finished"))
    done = sonde.run("run", "--name", "job", PYTHON, "-c", "import time; time.sleep(1)")
    assert done.returncode == 0
    return sonde.folder / STORE


@pytest.fixture
def finished(sonde: Sonde, store_of_finished: Path) -> Sonde:
    """A folder with a finished job named `job`."""
    shutil.copytree(store_of_finished, sonde.folder / STORE)
    return sonde


@pytest.fixture
def terminal(sonde: Sonde) -> Iterator[Terminal]:
    terminal = Terminal(sonde.folder)
    yield terminal
    terminal.close()


@pytest.fixture(scope="session")
def warm_torch() -> WarmPython:
    """A Python with PyTorch loaded, which takes seconds, and runs each script in a fork."""
    return WarmPython(("torch", "torch._dynamo"), ENVIRONMENT)


@pytest.fixture(scope="session")
def torch_python(warm_torch: WarmPython) -> tuple[str, ...]:
    """A command to use instead of `python` where neither startup nor process matters.

    The fork is not a child of the command, and it imports PyTorch before the hook is loaded.
    """
    return warm_torch.command()


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory, warm_torch: WarmPython) -> Scripts:
    """Runs of training scripts, shared by several tests."""
    local = tmp_path_factory.getbasetemp()
    shared = local.parent if "PYTEST_XDIST_WORKER" in os.environ else local
    return Scripts(shared / "scripts", warm_torch)
