"""The line that says why no training was recorded."""

from collections.abc import Mapping
from typing import Any


def unrecorded_line(coverage: Mapping[str, Any]) -> str:
    """Why the training process was not recorded; empty if it was or if there is none."""
    why = coverage["why_not"]
    return f"Training not recorded: {why}" if why else ""
