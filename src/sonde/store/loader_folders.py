"""Folders in which a training process and its data loader processes exchange files.

They are local to the machine and are removed at the end of the run. Their parent is world-writable,
and other users can guess their names, so links and folders of other users are never used.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def loader_folder(run_id: str | None, pid: int) -> Path:
    """The folder that a training process shares with its loader processes."""
    return Path(tempfile.gettempdir()) / f"{_prefix(run_id)}-{pid}"


def require_ownership(folder: Path) -> None:
    """Raise PermissionError if a path is a link or belongs to another user."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a folder of this user")


def remove_loader_folder(folder: Path) -> None:
    """Remove the folder of one training process, if it is there."""
    with suppress(OSError):
        require_ownership(folder)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def remove_loader_folders(run_id: str) -> None:
    """Remove the folders that killed processes of a run left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(run_id)}-*"):
        remove_loader_folder(folder)


def _prefix(run_id: str | None) -> str:
    return f"sonde-{run_id or 'run'}"
