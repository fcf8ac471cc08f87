"""A low-priority helper process whose CPU time counts as Sonde's."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from sonde.clock import Clock
from sonde.settings import environment

_LOWEST_PRIORITY = 19
_POLL_SECONDS = 0.02
_MARK = "SONDE_RUN_ID"  # marks processes of the job, which this process does not belong to


def sonde_command(*arguments: str) -> tuple[str, ...]:
    """The command line of a Sonde command; modules in the current folder do not shadow others."""
    return (sys.executable, "-P", "-m", "sonde", *arguments)


class SideProcess:
    """Runs one command repeatedly."""

    def __init__(self, command: Sequence[str], clock: Clock) -> None:
        self._command = command
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._spent_seconds = 0.0
        self.code: int | None = None  # of the last run; negative for a signal

    @property
    def cpu_seconds(self) -> float:
        """CPU time so far, including a current run."""
        return self._spent_seconds + (_cpu_seconds(self._process.pid) if self._process else 0.0)

    @property
    def pid(self) -> int | None:
        """The process ID, while the command runs."""
        return self._process.pid if self._process else None

    def is_running(self) -> bool:
        """Whether the command is running."""
        self._reap()
        return self._process is not None

    def start(self, errors: IO[bytes] | None = None) -> None:
        """Start the command, which must not be running, and return immediately.

        Args:
            errors: Where its standard error goes; discarded by default.
        """
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors or subprocess.DEVNULL,
            start_new_session=True,
            env={name: text for name, text in environment().items() if name != _MARK},
        )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, _LOWEST_PRIORITY)

    def run_once_more(self, seconds: float) -> None:
        """Wait for the current run, run the command again, and kill it at the deadline."""
        deadline = self._clock.seconds() + seconds
        self._wait(deadline)
        if self._process is None:
            self.start()
        self.finish(deadline - self._clock.seconds())

    def finish(self, seconds: float) -> bool:
        """Wait for the current run, and kill it at the deadline; return whether it ended itself."""
        if self.wait(seconds):
            return True
        process = self._process
        assert process is not None
        process.kill()
        while self.is_running():  # brief: SIGKILL cannot be ignored
            self._clock.wait(threading.Event(), _POLL_SECONDS)
        return False

    def wait(self, seconds: float) -> bool:
        """Wait for the current run; return whether it has ended."""
        self._wait(self._clock.seconds() + seconds)
        return self._process is None

    def _wait(self, deadline: float) -> None:
        never = threading.Event()
        while self.is_running() and self._clock.seconds() < deadline:
            self._clock.wait(never, _POLL_SECONDS)

    def _reap(self) -> None:
        if self._process is None:
            return
        try:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        except ChildProcessError:  # other code in this process reaped it, or SIGCHLD is ignored
            self._process.returncode = self.code = 0
            self._process = None
            return
        if pid:
            self._process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self._process = None
            self._spent_seconds += usage.ru_utime + usage.ru_stime


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process so far; 0 if unavailable."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0
