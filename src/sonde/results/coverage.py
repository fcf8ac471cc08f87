"""That the inside of a job was not seen, in one line: the first that is said of the job."""

from collections.abc import Mapping
from typing import Any


def not_seen(seen: Mapping[str, Any]) -> str:
    """The line; empty where the inside was seen, or there is nothing to see."""
    why = seen["why_not"]
    return f"Not seen from inside: {why}" if why else ""
