"""The folder that a hook saves in."""

import os
from pathlib import Path

from smdebug.core.recording import END_FILE, is_remote
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError


def checked_out_dir(out_dir: str) -> str:
    """The folder to save in.

    Raises:
        SMDebugRuntimeError: It contains a finished recording.
    """
    if not out_dir:
        raise SMDebugValueError("Hook needs out_dir, the folder to save in")
    path = os.fspath(out_dir)
    if not is_remote(path) and Path(path, END_FILE).exists():
        raise SMDebugRuntimeError(
            f"{path} contains the recording of a finished training. Choose another out_dir."
        )
    return path


def check_dir_exists(path: str) -> None:
    """Raise SMDebugRuntimeError if a folder contains a finished recording."""
    checked_out_dir(path)


def training_has_ended(trial_prefix: str) -> None:
    """Mark a folder as complete."""
    folder = Path(trial_prefix)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / END_FILE).touch()


def has_training_ended(trial_prefix: str) -> bool:
    """Whether a folder is marked as complete."""
    return Path(trial_prefix, END_FILE).exists()
