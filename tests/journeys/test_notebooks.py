"""The notebooks of the examples run from top to bottom and are stored without outputs."""

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
    result: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return [entry for entry in result if entry["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(notebook: Path) -> None:
    for cell in _cells(notebook):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_notebooks_run_from_top_to_bottom(tmp_path: Path) -> None:
    """Run all notebooks in parallel, since they mostly wait for kernels or training."""
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
    message = {
        output: process.communicate(timeout=_TIMEOUT_SECONDS) for output, process in running.items()
    }
    for notebook, process in running.items():
        assert process.returncode == 0, message[notebook][0]
        cells = _cells(tmp_path / notebook.name)
        shown = [output["data"] for cell in cells for output in cell["outputs"] if "data" in output]
        assert len(running) == 3
        assert sum("sandbox=" in "".join(output.get("text/html", "")) for output in shown) >= 3
