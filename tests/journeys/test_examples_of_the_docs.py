"""The examples of the documentation run from top to bottom."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.warm_python import WarmPython
from tests.test_docs import ROOT, WITH_EXAMPLES

pytestmark = pytest.mark.timeout(600)

_FENCE = re.compile(r"^```(bash|python|toml)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# settings for features that a page does not use, by the word that shows it does
_LEFT_OUT = {
    "report": "[report]\nat_end = false\n",
    "rule": "[rules]\nlive = false\n",
}


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100"}


@pytest.fixture(scope="module")
def python(environment: dict[str, str]) -> WarmPython:
    """A Python with the libraries that examples need to read jobs."""
    return WarmPython(("sonde.client.job", "pandas", "pyarrow.parquet"), environment)


@pytest.fixture(scope="module")
def shell(
    environment: dict[str, str], python: WarmPython, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """A folder in which `sonde` is a fork of that Python."""
    folder = tmp_path_factory.mktemp("bin")
    words = (*python.command(), str(Path(sys.executable).with_name("sonde")))
    (folder / "sonde").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    (folder / "sonde").chmod(0o755)
    return {**environment, "PATH": f"{folder}{os.pathsep}{environment['PATH']}"}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page_run_from_top_to_bottom(
    page: Path,
    shell: dict[str, str],
    python: WarmPython,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Run all blocks in one folder; a block marked `toml sonde.toml` is saved under that name."""
    # `sonde send` must not find spools of other tests in the temporary folder
    local = {"TMPDIR": str(tmp_path_factory.mktemp("tmp"))}
    text = page.read_text()
    unsaid = [setting for word, setting in _LEFT_OUT.items() if word not in text.lower()]
    if unsaid:
        (tmp_path / "sonde.toml").write_text("".join(unsaid))
    for language, rest, code in _FENCE.findall(text):
        if "no-run" in rest:
            continue
        if language == "toml" or (language == "python" and rest.strip()):
            (tmp_path / rest.strip()).write_text(code)
            continue
        if language == "bash":
            done = _in_a_shell(code, tmp_path, {**shell, **local})
        else:
            (tmp_path / "example.py").write_text(code)
            done = python.run(tmp_path / "example.py", tmp_path, local)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


def _in_a_shell(
    code: str, folder: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
