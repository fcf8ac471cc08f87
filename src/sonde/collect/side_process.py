"""A process of ours beside the job, at low priority, its CPU time counted as ours."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from sonde.clock import Clock

_LOWEST_PRIORITY = 19
_POLL_SECONDS = 0.02


def sonde_command(*words: str) -> tuple[str, ...]:
    """A command of ours; modules that lie where the job was started do not stand in for others."""
    return (sys.executable, "-P", "-m", "sonde", *words)


class SideProcess:
    """Runs one command now and then."""

    def __init__(self, command: Sequence[str], clock: Clock) -> None:
        self._command = command
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self.cpu_seconds = 0.0

    def is_running(self) -> bool:
        """Whether it is at work just now."""
        self._reap()
        return self._process is not None

    def start(self) -> None:
        """Runs the command, which is not running, and returns at once."""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, _LOWEST_PRIORITY)

    def run_once_more(self, seconds: float) -> None:
        """Waits for what runs, runs the command again, and ends it once that time has passed."""
        deadline = self._clock.seconds() + seconds
        self._wait(deadline)
        if self._process is None:
            self.start()
            self._wait(deadline)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wait(self, deadline: float) -> None:
        never = threading.Event()
        while self.is_running() and self._clock.seconds() < deadline:
            self._clock.wait(never, _POLL_SECONDS)

    def _reap(self) -> None:
        if self._process is None:
            return
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid:
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._process = None
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
