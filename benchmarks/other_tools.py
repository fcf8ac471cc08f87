"""Tools that ours is measured beside, each in an environment of its own."""

import subprocess
import sys
import venv
from pathlib import Path


def install(folder: Path, *requirements: str) -> Path:
    """Makes an environment with these in the folder; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    words = [str(python), "-m", "pip", "install", "-q", *requirements]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{requirements[0]} cannot be installed:\n{done.stderr}")
    return python
