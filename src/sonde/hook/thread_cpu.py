"""What our threads cost in a process that is not ours alone."""

import threading
from pathlib import Path

from sonde.clock import NANOSECONDS

_HOOK = "sonde-hook"  # counts its own time, as part of the training


class OwnThreads:
    """Adds up the CPU time of the threads that record beside a training."""

    def __init__(self) -> None:
        self._spent_ns: dict[int, int] = {}  # also of threads that have ended

    def cpu_seconds(self) -> float:
        """All of it so far; nothing where the system does not tell."""
        for thread in threading.enumerate():
            is_ours = thread.name.startswith("sonde-") and thread.name != _HOOK
            if is_ours and thread.native_id is not None:
                self._spent_ns[thread.native_id] = _spent_ns(thread.native_id)
        return sum(self._spent_ns.values()) / NANOSECONDS


def _spent_ns(native_id: int) -> int:
    try:
        return int(Path(f"/proc/self/task/{native_id}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
