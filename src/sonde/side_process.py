"""A process of ours beside the job, at low priority, its CPU time counted as ours."""

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
_MARK = "SONDE_RUN_ID"  # what processes of the job carry; ours is none of them


def sonde_command(*words: str) -> tuple[str, ...]:
    """A command of ours; modules that lie where the job was started do not stand in for others."""
    return (sys.executable, "-P", "-m", "sonde", *words)


class SideProcess:
    """Runs one command now and then."""

    def __init__(self, command: Sequence[str], clock: Clock) -> None:
        self._command = command
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._spent_seconds = 0.0
        self.code: int | None = None  # of the last one that ended; below 0: minus a signal

    @property
    def cpu_seconds(self) -> float:
        """What it has cost so far, also while it runs."""
        return self._spent_seconds + (_cpu_seconds(self._process.pid) if self._process else 0.0)

    def is_running(self) -> bool:
        """Whether it is at work just now."""
        self._reap()
        return self._process is not None

    def start(self, errors: IO[bytes] | None = None) -> None:
        """Runs the command, which is not running, and returns at once.

        Args:
            errors: Where its standard error goes; nowhere by default.
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
        """Waits for what runs, runs the command again, and ends it once that time has passed."""
        deadline = self._clock.seconds() + seconds
        self._wait(deadline)
        if self._process is None:
            self.start()
        self.finish(deadline - self._clock.seconds())

    def finish(self, seconds: float) -> bool:
        """Waits for what runs, and ends it once that time has passed; whether it ended itself."""
        self._wait(self._clock.seconds() + seconds)
        process = self._process
        if process is None:
            return True
        process.kill()
        while self.is_running():  # a moment: nothing survives that signal
            self._clock.wait(threading.Event(), _POLL_SECONDS)
        return False

    def _wait(self, deadline: float) -> None:
        never = threading.Event()
        while self.is_running() and self._clock.seconds() < deadline:
            self._clock.wait(never, _POLL_SECONDS)

    def _reap(self) -> None:
        if self._process is None:
            return
        try:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        except ChildProcessError:  # somebody in this process waits for every child, or for none
            self._process.returncode = self.code = 0
            self._process = None
            return
        if pid:
            self._process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self._process = None
            self._spent_seconds += usage.ru_utime + usage.ru_stime


def _cpu_seconds(pid: int) -> float:
    """What a process has cost so far; 0 where that cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0
