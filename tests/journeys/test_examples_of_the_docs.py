"""The examples of the documentation run, top to bottom, as a reader would try them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT, WITH_EXAMPLES

pytestmark = pytest.mark.timeout(600)

_FENCE = re.compile(r"^```(bash|python|toml)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """Top to bottom in one folder; a block marked `toml sonde.toml` is saved under that name."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    text = page.read_text()
    if "report" not in text:  # what no example looks at is not written
        (tmp_path / "sonde.toml").write_text("[report]\nat_end = false\n")
    for language, rest, code in _FENCE.findall(text):
        if "no-run" in rest:
            continue
        if language == "toml" or (language == "python" and rest.strip()):
            (tmp_path / rest.strip()).write_text(code)
            continue
        words = ["bash", "-euo", "pipefail", "-c"] if language == "bash" else [sys.executable, "-c"]
        done = subprocess.run(
            [*words, code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
