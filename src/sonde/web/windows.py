"""The requested time window in reply headers."""

from typing import Any

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange


def window_document(window: TimeRange) -> dict[str, Any]:
    """Start and end of a window in Unix seconds."""
    return {
        "t0": (window.start_ns or 0) / NANOSECONDS,
        "t1": (window.end_ns or 0) / NANOSECONDS,
    }
