"""Where files of the user are kept, beside any store."""

import os
from pathlib import Path


def state_folder() -> Path | None:
    """The user's folder for what outlives a run; None where the user has no home."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "sonde"
    try:
        return Path.home() / ".local" / "state" / "sonde"
    except RuntimeError:
        return None
