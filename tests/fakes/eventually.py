"""Waiting for what another thread or process does, with a deadline instead of a guess."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], within_seconds: float = 90.0) -> bool:
    """Whether the condition came true before the deadline; looks every few milliseconds."""
    deadline = time.monotonic() + within_seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
