"""Tracebacks, recursion depth and function modes are the same as without Sonde."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.scripts import FOLDER
from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment

DEEP = """
import torch
class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
    def forward(self, x, depth):
        return self(x, depth - 1) if depth else self.linear(x)
model = Deep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):  # including profiled steps
    optimizer.zero_grad()
    model(torch.ones(1, 2), 185).sum().backward()
    optimizer.step()
"""

MODEL = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Data(torch.utils.data.Dataset):
    limit = 12
    def __len__(self):
        return 12
    def __getitem__(self, index):
        if index >= self.limit:
            raise ValueError("no such sample")
        return torch.ones(2)
def train(data):
    for batch in torch.utils.data.DataLoader(data, batch_size=2):
        def closure():
            optimizer.zero_grad()
            loss = model(batch).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
"""
DEATHS = {
    "loader": "data = Data()\ndata.limit = 9\ntrain(data)\n",
    "thread and forward": """
import threading
def forward(x):
    raise ValueError("in forward")
train(Data())
thread = threading.Thread(target=torch.ones(2, requires_grad=True).backward, name="mine")
thread.start()
thread.join()
model[1].forward = forward
train(Data())
""",
    "unprintable": """
class Unprintable(Exception):
    def __str__(self):
        sys.exit(9)
def closure():
    raise Unprintable
train(Data())
optimizer.step(closure)
""",
    "hostile fields": """
class Hostile(Exception):
    @property
    def __traceback__(self):
        sys.exit(3)
    __cause__ = __context__ = __notes__ = __traceback__
train(Data())
raise ExceptionGroup("group", [ValueError(1), Hostile("x")])
""",
    "hostile attributes": """
class Name(type):
    __name__ = __mro__ = property(lambda kind: sys.exit(4))
class Hostile(BaseException, metaclass=Name):
    def __getattribute__(self, name):
        raise GeneratorExit
    __hash__ = __bool__ = __eq__ = __str__ = __repr__ = __getattribute__
train(Data())
raise Hostile("x")
""",
    "exit with an array": """
import numpy
train(Data())
sys.exit(numpy.ones(2))
""",
}

MODE = """
from torch.overrides import TorchFunctionMode
calls = []
class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        calls.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))
with Mode():
    for _ in range(4):
        train(Data())
print(len(calls), *calls, sep="\\n")
"""


def alone(folder: Path, *command: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        command,
        cwd=folder,
        env=plain_environment(),
        capture_output=True,
        timeout=150,
        check=False,
    )


def lines(errors: bytes) -> list[str]:
    """Return the output of the script itself."""
    return [line for line in errors.decode().splitlines() if not line.startswith("sonde: ")]


def of_the_script(errors: bytes) -> list[str]:
    """Return the frames of a traceback and the text after the last one, without addresses."""
    own = [line for line in lines(errors) if "script.py" in line or not line.startswith(" ")]
    return [line for line in own if not line.startswith("object ")]


def test_a_module_that_recurses_185_deep_has_enough_stack(sonde: Sonde) -> None:
    (sonde.folder / "deep.py").write_text(DEEP)
    done = sonde.run("run", "--name", "job", PYTHON, "deep.py")
    assert (done.returncode, lines(done.stderr)) == (0, [])


@pytest.mark.parametrize("death", DEATHS)
def test_a_failing_script_has_the_same_traceback_and_exit_code_as_without_sonde(
    sonde: Sonde, torch_python: tuple[str, ...], death: str
) -> None:
    (sonde.folder / "script.py").write_text(MODEL + DEATHS[death])
    bare = alone(sonde.folder, *torch_python, "script.py")
    done = sonde.run("run", "--name", "job", *torch_python, "script.py")
    assert not [line for line in lines(done.stderr) if "sonde/hook" in line]
    # PyTorch calls modules with hooks through other frames, so its own frames may differ
    assert of_the_script(done.stderr) == of_the_script(bare.stderr)
    assert done.returncode == bare.returncode
    assert "sonde/hook" not in str(sonde.status()["exit"])


def test_a_torch_function_mode_of_the_script_sees_only_its_own_calls(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    (sonde.folder / "script.py").write_text(MODEL + MODE)
    bare = alone(sonde.folder, *torch_python, "script.py")
    done = sonde.run("run", "--name", "job", *torch_python, "script.py")
    assert bare.stdout
    assert done.stdout == bare.stdout


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The output of a script with warnings, errors and recursion, without and with Sonde."""
    folder = tmp_path_factory.mktemp("shows")
    script = str(FOLDER / "visible_effects.py")
    done = Sonde(folder).run("run", "--name", "job", PYTHON, script)
    result = [alone(folder, PYTHON, script), done]
    assert [entry.returncode for entry in result] == [0, 0]
    assert lines(result[1].stderr) == lines(
        result[0].stderr
    )  # including warnings of a child process
    bare, watched = (json.loads(entry.stdout) for entry in result)
    return bare, watched


def test_warnings_and_printed_tracebacks_name_the_same_lines_as_without_sonde(
    shown: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    bare, watched = shown
    assert len([line for line in bare["shown"] if "planted" in line]) > 100
    assert watched["shown"] == bare["shown"]


def test_recursion_through_prints_loaders_backward_and_saving_costs_a_frame_per_wrapper(
    shown: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    bare, watched = shown
    added = {way: watched["frames"][way] - count for way, count in bare["frames"].items()}
    # a loader is wrapped where it returns and where it makes a batch, saving for duration and path,
    # a backward pass for steps that are recorded and for those that are only counted
    wrappers = {"print": 1, "backward": 2, "loader": 2, "torch.save": 2}
    assert added == {way: count * bare["levels"] for way, count in wrappers.items()}
