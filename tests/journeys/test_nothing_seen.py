"""Jobs whose training cannot be recorded report this first and name the framework."""

import html
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from sonde.agent.handover import INJECT_FOLDER
from tests.journeys.sonde_cli import PYTHON, Sonde

# replaces a framework; only name and version matter
FRAMEWORK = '__version__ = "2.17.1"\n'
MESSAGE = "Training not recorded: This job uses TensorFlow 2.17, which Sonde cannot instrument."

pytestmark = pytest.mark.timeout(200)


def run(sonde: Sonde, *words: str) -> subprocess.CompletedProcess[bytes]:
    (sonde.folder / "tensorflow.py").write_text(FRAMEWORK)
    return sonde.run("run", "--name", "job", *words)


def test_an_unsupported_framework_is_named_first_everywhere(sonde: Sonde) -> None:
    done = run(sonde, PYTHON, "-c", "import tensorflow")
    assert done.returncode == 0
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith("sonde: Recording job")
    assert lines[1].startswith(f"sonde: {MESSAGE}")
    status = sonde.run("status", "job").stdout.decode()
    assert status.startswith(MESSAGE)
    assert sonde.run("findings", "job").stdout.decode().startswith(MESSAGE)
    observed = json.loads(sonde.run("status", "job", "--json").stdout)["seen"]
    assert (observed["framework"], observed["inside"]) == ("tensorflow 2.17", False)


def test_the_script_can_report_its_steps_itself(sonde: Sonde) -> None:
    script = (
        "import tensorflow, sonde\nfor _ in range(3):\n    sonde.log(loss=1.0)\n    sonde.step()"
    )
    done = run(sonde, PYTHON, "-c", script)
    assert "Not seen" not in done.stderr.decode()
    status = sonde.status()
    assert status["seen"] == {"framework": "tensorflow 2.17", "inside": True, "why_not": None}
    assert status["steps"] == {"train": 3}


@pytest.mark.parametrize("is_hook_damaged", [True, False])
def test_a_hook_that_fails_is_reported_by_status_summary_and_report(
    sonde: Sonde, is_hook_damaged: bool
) -> None:
    (sonde.folder / "torch.py").write_text(FRAMEWORK)  # adapters cannot attach to it
    hook = sonde.folder / "damaged" / "sonde" / "hook"
    shutil.copytree(INJECT_FOLDER, hook / "inject")
    shutil.copy(INJECT_FOLDER.parent / "startup_report.py", hook)
    path = hook / "inject" if is_hook_damaged else INJECT_FOLDER
    command = ("env", f"PYTHONPATH={path}", PYTHON, "-c", "import torch")

    done = sonde.run("run", "--name", "job", *command)

    assert done.returncode == 0
    failed = "Training not recorded: Sonde's hook could not be loaded into the process: "
    assert failed in done.stderr.decode()
    assert sonde.run("status", "job").stdout.decode().startswith(failed)
    sonde.run("report", "job")
    report = next(sonde.folder.rglob("report.html")).read_text()
    assert html.escape(failed) in report or failed in report


@pytest.mark.skipif(os.geteuid() != 0, reason="changing the user takes root")
@pytest.mark.parametrize("options", [(), ("--no-rules",)])
def test_a_hook_that_is_unreadable_after_dropping_privileges_is_reported(
    sonde: Sonde, options: tuple[str, ...]
) -> None:
    private = sonde.folder / "private" / "sonde" / "hook"
    shutil.copytree(INJECT_FOLDER.parent, private)
    (sonde.folder / "private").chmod(0o700)
    with tempfile.TemporaryDirectory() as public:
        Path(public).chmod(0o755)
        (Path(public) / "torch.py").write_text(FRAMEWORK)
        script = (
            f"import json, os, socket, sys, zlib\nsys.path.insert(0, {public!r})\n"
            "os.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\nimport torch\nsys.exit(11)"
        )
        command = ("env", f"PYTHONPATH={private / 'inject'}", PYTHON, "-c", script)
        done = sonde.run("run", "--name", "job", *options, *command)

    assert done.returncode == 11, done.stderr
    failed = "Training not recorded: Sonde's hook could not be loaded into the process: "
    assert failed in done.stderr.decode()
    assert sonde.run("status", "job").stdout.decode().startswith(f"{failed}PermissionError")
    assert sonde.status()["lost"] == []


def test_a_program_that_is_not_python_has_no_notice(sonde: Sonde) -> None:
    done = run(sonde, "true")
    assert "Not seen" not in done.stderr.decode()
    assert sonde.status()["seen"] == {"framework": None, "inside": False, "why_not": None}
