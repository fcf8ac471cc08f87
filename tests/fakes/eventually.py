"""Waiting for what another thread or process does, with a deadline instead of a guess."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], within_seconds: float = 90.0) -> bool:
    """Whether the condition came true before the deadline.

    Looks every few milliseconds; less often where a look is dear, for others need the processor.
    """
    deadline = time.monotonic() + within_seconds
    began = time.thread_time()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(min(max(0.005, 4 * (time.thread_time() - began)), 0.1))
        began = time.thread_time()
    return True
