"""Wait for other threads or processes, with a deadline."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], within_seconds: float = 90.0) -> bool:
    """Return whether the condition became true before the deadline.

    Polls every few milliseconds, and less often if a poll is expensive.
    """
    deadline = time.monotonic() + within_seconds
    began = time.thread_time()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(min(max(0.005, 4 * (time.thread_time() - began)), 0.1))
        began = time.thread_time()
    return True
