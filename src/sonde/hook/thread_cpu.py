"""CPU time of Sonde's threads in a user's process."""

import threading
from pathlib import Path

from sonde.clock import NANOSECONDS

_HOOK = "sonde-hook"  # measures its own time, which counts as hook overhead


class SondeThreads:
    """Sums up the CPU time of Sonde's threads, except the hook's worker thread."""

    def __init__(self) -> None:
        self._spent_ns: dict[int, int] = {}  # by thread, including ended threads

    def cpu_seconds(self) -> float:
        """Total CPU time so far; zero if the system does not report it."""
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
