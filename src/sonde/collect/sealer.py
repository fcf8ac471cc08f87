"""Lets a process of its own seal closed segments, so that the launcher stays small.

Sealing needs numpy and Arrow, which would triple the launcher's memory and its start-up time.
"""

import os
import subprocess
import sys

_LOWEST_PRIORITY = 19


class Sealer:
    """At most one sealing process at a time, at low priority, its CPU time counted as ours."""

    def __init__(self, job_uri: str, node: str, budget_bytes: int) -> None:
        words = ["compact", job_uri, "--node", node, "--budget", f"{budget_bytes}B", "--quiet"]
        self._command = [sys.executable, "-m", "sonde", *words]
        self._process: subprocess.Popen[bytes] | None = None
        self._sealed = 0
        self.cpu_seconds = 0.0

    def seal(self, closed_segments: int) -> None:
        """Starts sealing if segments were closed since the last time and nobody is at it."""
        self._reap(os.WNOHANG)
        if self._process is None and closed_segments > self._sealed:
            self._sealed = closed_segments
            self._start()

    def seal_all(self, seconds: float) -> None:
        """Seals what is left of a job that has ended, for at most that long."""
        self._reap(0)
        self._start()
        process = self._process
        if process is None:
            return
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:  # `sonde compact` finishes it another time
            process.kill()
            process.wait()

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

    def _reap(self, options: int) -> None:
        if self._process is None:
            return
        pid, status, usage = os.wait4(self._process.pid, options)
        if pid:
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._process = None
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
