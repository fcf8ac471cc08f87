"""Waits for Gloo's threads, which still record after the training thread has gone on.

A Gloo thread completes the future of a collective, which wakes the training thread, before it ends
the collective's entry in the profiler. If the profiler is stopped in between, the thread writes
into memory that has been freed, and the process crashes.
"""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

_NAME = b"pt_gloo_runloop"
_SLEEPS = b"S"
_POLL_SECONDS = 0.001
_MAX_POLLS = 200
_TASKS = Path("/proc/self/task")


def wait_for_gloo(tasks: Path = _TASKS, max_polls: int = _MAX_POLLS) -> bool:
    """Wait until no Gloo thread is running; return whether that is so.

    Args:
        tasks: The folder of this process's threads.
        max_polls: How often to look, once per millisecond.
    """
    if not _uses_gloo():
        return True
    pause = threading.Event()
    for _ in range(max_polls):
        if all(state == _SLEEPS for state in _states(tasks)):
            return True
        pause.wait(_POLL_SECONDS)
    return False


def _uses_gloo() -> bool:
    distributed = sys.modules.get("torch.distributed")
    return bool(distributed and distributed.is_available() and distributed.is_initialized())


def _states(tasks: Path) -> Iterator[bytes]:
    """The scheduling state of each Gloo thread; none on systems without /proc."""
    try:
        threads = list(tasks.iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            line = (thread / "stat").read_bytes()
        except OSError:  # the thread has ended
            continue
        comm, _, rest = line.partition(b"(")[2].rpartition(b")")
        if comm == _NAME:
            yield rest.split()[0]
