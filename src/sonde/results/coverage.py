"""The line that says why no training was recorded."""

from collections.abc import Mapping
from typing import Any


def unrecorded_line(seen: Mapping[str, Any]) -> str:
    """Why the training process was not recorded; empty if it was or if there is none."""
    why = seen["why_not"]
    return f"Training not recorded: {why}" if why else ""
