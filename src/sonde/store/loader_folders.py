"""Folders in which a training process and its data loader processes exchange files.

They are local to the machine and are removed at the end of the run.
"""

import tempfile
from contextlib import suppress
from pathlib import Path


def loader_folder(run_id: str | None, pid: int) -> Path:
    """The folder that a training process shares with its loader processes."""
    return Path(tempfile.gettempdir()) / f"{_prefix(run_id)}-{pid}"


def remove_loader_folder(folder: Path) -> None:
    """Remove the folder of one training process, if it is there."""
    with suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def remove_loader_folders(run_id: str) -> None:
    """Remove the folders that killed processes of a run left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(run_id)}-*"):
        remove_loader_folder(folder)


def _prefix(run_id: str | None) -> str:
    return f"sonde-{run_id or 'run'}"
