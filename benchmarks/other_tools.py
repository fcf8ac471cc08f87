"""Installation of tools for comparison, each in its own virtual environment."""

import subprocess
import sys
import venv
from pathlib import Path


def install(folder: Path, *requirements: str) -> Path:
    """Create an environment with these packages; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    words = [str(python), "-m", "pip", "install", "-q", *requirements]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Cannot install {requirements[0]}:\n{done.stderr}")
    return python
