"""The examples of the documentation run, top to bottom, as a reader would try them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.warm_python import WarmPython
from tests.test_docs import ROOT, WITH_EXAMPLES

pytestmark = pytest.mark.timeout(600)

_FENCE = re.compile(r"^```(bash|python|toml)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100"}


@pytest.fixture(scope="module")
def python(environment: dict[str, str]) -> WarmPython:
    """Has loaded what examples only read with."""
    return WarmPython(("sonde.client.job", "pandas", "pyarrow.parquet"), environment)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, environment: dict[str, str], python: WarmPython, tmp_path: Path
) -> None:
    """Top to bottom in one folder; a block marked `toml sonde.toml` is saved under that name."""
    text = page.read_text()
    if "report" not in text:  # what no example looks at is not written
        (tmp_path / "sonde.toml").write_text("[report]\nat_end = false\n")
    for language, rest, code in _FENCE.findall(text):
        if "no-run" in rest:
            continue
        if language == "toml" or (language == "python" and rest.strip()):
            (tmp_path / rest.strip()).write_text(code)
            continue
        if language == "bash":
            done = _in_a_shell(code, tmp_path, environment)
        else:
            (tmp_path / "example.py").write_text(code)
            done = python.run(tmp_path / "example.py", tmp_path)
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
