"""The notebooks of the examples run from top to bottom, and keep no outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import ROOT

pytestmark = pytest.mark.timeout(600)

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
_TIMEOUT_SECONDS = 500


def _cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return [one for one in found if one["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    for cell in _cells(notebook):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_the_notebooks_run(tmp_path: Path) -> None:
    """All at once: most of the time each waits for a kernel or for its own small training."""
    folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "TMPDIR": str(tmp_path),
    }
    running = {
        notebook: subprocess.Popen(
            [folder / "jupyter-execute", notebook, f"--output={tmp_path / notebook.name}"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for notebook in NOTEBOOKS
    }
    said = {one: process.communicate(timeout=_TIMEOUT_SECONDS) for one, process in running.items()}
    for notebook, process in running.items():
        assert process.returncode == 0, said[notebook][0]
        cells = _cells(tmp_path / notebook.name)
        shown = [one["data"] for cell in cells for one in cell["outputs"] if "data" in one]
        assert len(running) == 3
        assert sum("sandbox=" in "".join(one.get("text/html", "")) for one in shown) >= 3
