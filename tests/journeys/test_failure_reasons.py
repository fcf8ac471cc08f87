"""A job that fails reports the exception, its location and the worker."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde

TORCHRUN = str(Path(PYTHON).with_name("torchrun"))


def death(sonde: Sonde, script: str, *command: str) -> dict[str, Any]:
    """Return how a job with this script ended; by default plain Python runs it."""
    (sonde.folder / "script.py").write_text(script)
    done = sonde.run("run", "--name", "job", *(command or (PYTHON,)), "script.py", timeout=120)
    assert done.returncode != 0
    exit_ = sonde.status()["exit"]
    assert isinstance(exit_, dict)
    return exit_


def test_an_exception_is_the_reason_with_its_traceback(sonde: Sonde) -> None:
    exit_ = death(sonde, "def train():\n    raise ValueError('no data')\ntrain()\n")
    assert (exit_["reason"], exit_["message"]) == ("exception", "ValueError: no data")
    assert exit_["traceback"].startswith("Traceback (most recent call last):")
    assert "line 2, in train" in exit_["traceback"]
    assert exit_["code"] == 1


def test_a_missing_module_is_the_reason_even_before_a_framework_is_imported(sonde: Sonde) -> None:
    exit_ = death(sonde, "import no_such_module\n")
    assert exit_["message"] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_the_printed_traceback_is_the_same_as_without_sonde(sonde: Sonde) -> None:
    script = "def train():\n    raise ValueError('no data')\ntrain()\n"
    (sonde.folder / "script.py").write_text(script)
    plain = subprocess.run(
        [PYTHON, "script.py"], cwd=sonde.folder, capture_output=True, check=False
    )
    watched = sonde.run("run", "--quiet", PYTHON, "script.py")
    assert watched.stderr == plain.stderr


@pytest.mark.parametrize(
    "hook", ["lambda *_: print('mine')", "lambda *_: 1 / 0", "lambda *_: sys.exit(5)"]
)
def test_an_exception_hook_set_by_the_script_does_not_hide_the_reason(
    sonde: Sonde, hook: str
) -> None:
    exit_ = death(sonde, f"import sys\nsys.excepthook = {hook}\nraise ValueError('no data')\n")
    assert exit_["message"] == "ValueError: no data"


def test_an_exit_code_set_by_the_script_is_the_reason(sonde: Sonde) -> None:
    exit_ = death(
        sonde, "import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(4)\n"
    )
    assert (exit_["reason"], exit_["code"], exit_["message"]) == ("exit", 4, "exit code 4")
    assert exit_["traceback"] is None


def test_secrets_in_messages_and_tracebacks_are_masked(sonde: Sonde) -> None:
    secret = "hf_" + "AbCdEfGh0123456789XyZ"
    exit_ = death(sonde, f"raise RuntimeError('401 for {secret}')\n")
    assert exit_["message"] == "RuntimeError: 401 for ***"
    files = [path for path in sonde.folder.rglob("*") if path.is_file()]
    assert not [
        path for path in files if secret.encode() in path.read_bytes() and path.name != "script.py"
    ]


def test_a_device_out_of_memory_error_is_distinguished_from_other_exceptions(sonde: Sonde) -> None:
    (sonde.folder / "torch.py").write_text(
        "class OutOfMemoryError(RuntimeError): pass\n"
        "class cuda:\n"
        "    is_initialized = staticmethod(lambda: True)\n"
        "    memory_summary = staticmethod(lambda: '|  allocated  | 79 GiB |')\n"
    )
    exit_ = death(
        sonde, "import torch\nraise torch.OutOfMemoryError('CUDA out of memory. Tried')\n"
    )
    assert exit_["reason"] == "device-out-of-memory"
    assert exit_["message"] == "torch.OutOfMemoryError: CUDA out of memory. Tried"
    assert exit_["traceback"].endswith("|  allocated  | 79 GiB |")


def test_an_interrupt_is_a_signal_with_its_location(sonde: Sonde) -> None:
    (sonde.folder / "script.py").write_text(
        "import pathlib, time\ndef train():\n    pathlib.Path('ready').touch()\n"
        "    time.sleep(600)\ntrain()\n"
    )
    launcher = sonde.start("run", "--name", "job", PYTHON, "script.py")
    assert eventually((sonde.folder / "ready").exists)
    os.kill(sonde.command_pid(), signal.SIGINT)
    assert launcher.wait(120) == 128 + signal.SIGINT
    exit_ = sonde.status()["exit"]
    assert (exit_["reason"], exit_["signal"]) == ("signal", "SIGINT")
    assert "in train" in exit_["traceback"]


def test_a_helper_whose_failure_is_handled_is_not_the_reason(sonde: Sonde) -> None:
    exit_ = death(
        sonde,
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import no_such_module'])\n"
        "raise ValueError('the cause')\n",
    )
    assert exit_["message"] == "ValueError: the cause"


def test_under_a_shell_the_failed_script_is_named(sonde: Sonde) -> None:
    line = f"{PYTHON} -c 'import no_such_module'; {PYTHON} $0"
    exit_ = death(sonde, "raise ValueError('the cause')\n", "sh", "-c", line)
    assert exit_["message"] == "ValueError: the cause"


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_child_failure_that_ends_its_parent_is_the_reason(sonde: Sonde, method: str) -> None:
    exit_ = death(
        sonde,
        "import concurrent.futures, multiprocessing, subprocess, sys\n"
        "def child():\n    raise ValueError('the cause')\n"
        "if __name__ == '__main__':\n"
        f"    one = multiprocessing.get_context({method!r}).Process(target=child)\n"
        "    one.start(); one.join()\n"
        "    raise subprocess.CalledProcessError(one.exitcode, 'child')\n",
    )
    assert exit_["message"] == "ValueError: the cause"
    assert "in child" in exit_["traceback"]


def test_a_successful_script_has_no_failure_reason_even_if_children_failed(sonde: Sonde) -> None:
    script = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '1/0'])\n"
    sonde.run("run", "--name", "job", PYTHON, "-c", script)
    exit_ = sonde.status()["exit"]
    assert (exit_["reason"], exit_["message"], exit_["traceback"]) == ("exit", None, None)


RANKS = """
import os, sys, time
if os.environ["RANK"] == "1":
    {}
time.sleep(600)
"""


def test_the_worker_that_raised_first_is_named(sonde: Sonde) -> None:
    script = RANKS.format("raise ValueError('bad shard')")
    exit_ = death(sonde, script, TORCHRUN, "--nproc-per-node", "2")
    assert (exit_["reason"], exit_["worker"]) == ("exception", 1)
    assert exit_["message"] == "ValueError: bad shard"


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        ("sys.exit(3)", "exit", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "signal", "killed by SIGKILL"),
    ],
)
def test_a_worker_that_exits_silently_is_named(
    sonde: Sonde, line: str, reason: str, message: str
) -> None:
    exit_ = death(sonde, RANKS.format(line), TORCHRUN, "--nproc-per-node", "2")
    assert (exit_["reason"], exit_["worker"], exit_["message"]) == (reason, 1, message)


def test_a_failed_collective_is_reported_as_such(sonde: Sonde) -> None:
    exit_ = death(
        sonde,
        "import datetime, os, sys, time, torch\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "dist.barrier()\n"
        "both = dist.new_group(timeout=datetime.timedelta(seconds=4))\n"
        "if os.environ['RANK'] == '1':\n"
        "    time.sleep(600)\n"
        "dist.all_reduce(torch.ones(1), group=both)\n",
        *(TORCHRUN, "--nproc-per-node", "2"),
    )
    assert (exit_["reason"], exit_["worker"]) == ("exception", 0)
    assert "in a collective: all_reduce" in exit_["traceback"]
