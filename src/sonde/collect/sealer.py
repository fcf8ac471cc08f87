"""Lets a process of its own seal closed segments, so that the launcher stays small.

Sealing needs numpy and Arrow, which would triple the launcher's memory and its start-up time.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from sonde.clock import Clock

# A sealing process costs about a second of CPU, most of it for starting; what waits meanwhile
# stays a log, which is read as well.
_EVERY_SECONDS = 1800.0

_LOWEST_PRIORITY = 19
_POLL_SECONDS = 0.02


def sealing_command(job_uri: str, node: str, budget_bytes: int) -> tuple[str, ...]:
    """The command that seals what a node has recorded."""
    words = ("compact", job_uri, "--node", node, "--budget", f"{budget_bytes}B", "--quiet")
    return (sys.executable, "-m", "sonde", *words)


class Sealer:
    """At most one sealing process at a time, at low priority, its CPU time counted as ours."""

    def __init__(
        self, command: Sequence[str], clock: Clock, every_seconds: float = _EVERY_SECONDS
    ) -> None:
        self._command = command
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._sealed = 0
        self._every_seconds = every_seconds
        self._due = clock.seconds() + every_seconds
        self.cpu_seconds = 0.0

    def seal(self, closed_segments: int) -> None:
        """Starts sealing if it is time, segments were closed since, and nobody is at it."""
        self._reap()
        is_time = self._clock.seconds() >= self._due
        if is_time and self._process is None and closed_segments > self._sealed:
            self._sealed = closed_segments
            self._due = self._clock.seconds() + self._every_seconds
            self._start()

    def seal_all(self, seconds: float) -> None:
        """Seals what is left of a job that has ended, for at most that long."""
        deadline = self._clock.seconds() + seconds
        self._wait(deadline)
        if self._process is None:
            self._start()
            self._wait(deadline)
        if self._process is not None:  # `sonde compact` finishes it another time
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, _LOWEST_PRIORITY)

    def _wait(self, deadline: float) -> None:
        never = threading.Event()
        self._reap()
        while self._process is not None and self._clock.seconds() < deadline:
            self._clock.wait(never, _POLL_SECONDS)
            self._reap()

    def _reap(self) -> None:
        if self._process is None:
            return
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid:
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._process = None
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
