"""Folders for files of the user."""

import os
from pathlib import Path


def state_folder() -> Path | None:
    """The user's state folder; None if the user has no home folder."""
    state_home = os.environ.get("XDG_STATE_HOME", "")
    if state_home and Path(state_home).is_absolute():
        return Path(state_home) / "sonde"
    try:
        return Path.home() / ".local" / "state" / "sonde"
    except RuntimeError:
        return None
