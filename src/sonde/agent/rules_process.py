"""Run rules on a running job in a separate process, on one node of the job.

The launcher starts the process when there is data and no other node runs rules, restarts it if it
crashes, and gives it limited time to finish at the end of the job.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import IO

from sonde.agent.registration import Registration
from sonde.clock import Clock
from sonde.settings import RunSettings
from sonde.side_process import SideProcess, sonde_command
from sonde.store.layout import WORKERS
from sonde.store.lease import Leasing

# Starting takes a second of CPU time: a command without workers gets no process before this time.
_MIN_JOB_SECONDS = 10.0
_JOINED_DELAY_SECONDS = 10.0  # the node that created the job goes first
_CHECK_SECONDS = 5.0
_RESTART_SECONDS = 1.0  # after a crash; doubled after each
_MAX_CRASHES = 3
_STABLE_SECONDS = 600.0  # a crash after this long resets the count
_ERROR_BYTES = 2000


def rules_command(registration: Registration, settings: RunSettings) -> tuple[str, ...]:
    """The command that runs rules until this attempt ends."""
    words = [
        "follow",
        registration.backend.uri,
        "--attempt",
        f"{registration.node}/{registration.number}",
    ]
    words += ["--config", settings.file] if settings.file is not None else []
    return sonde_command(*words, *settings.rule_options.words, *settings.actions.words)


class RulesProcess:
    """The rules process of a node, started when needed, one at a time."""

    def __init__(
        self,
        registration: Registration,
        command: Sequence[str],
        clock: Clock,
        on_failure: Callable[[str], None],
    ) -> None:
        self._backend = registration.backend
        self._clock = clock
        self._process = SideProcess(command, clock)
        self._leasing = Leasing(registration.backend, clock, registration.node)
        self._on_failure = on_failure
        self._started_seconds = clock.seconds()
        self._due = self._started_seconds + (
            0.0 if registration.is_creator else _JOINED_DELAY_SECONDS
        )
        self._errors: IO[bytes] | None = None
        self._process_started_seconds = 0.0
        self._crashes = 0
        self._is_off = False

    @property
    def cpu_seconds(self) -> float:
        """CPU time used so far."""
        return self._process.cpu_seconds

    def check(self) -> None:
        """Start the process if it is due, worthwhile, and no other node runs rules."""
        if self._is_off or self._process.is_running():
            return
        if self._errors is not None:
            self._check_exit()
        if self._clock.seconds() >= self._due and not self._is_off and self.is_worthwhile():
            self._due = self._clock.seconds() + max(_CHECK_SECONDS, self._backend.flush_seconds)
            if self._leasing.is_free():
                self._start()

    def finish(self, seconds: float) -> None:
        """Let it process the rest of a finished job, up to a timeout.

        `sonde check --record` can process the rest later.
        """
        if self._is_off:
            return
        is_needed = self._has_workers() and not self._is_or_was_there()
        if is_needed and self._leasing.is_free():
            self._start()
        self._end(seconds)

    def _is_or_was_there(self) -> bool:
        """Whether it is running, or has seen the end of the attempt and exited."""
        is_running = self._process.is_running()
        return is_running or (self._errors is not None and self._process.code == 0)

    def switch_off(self) -> None:
        """Stop the process and do not start another."""
        self._is_off = True
        self._end(0.0)

    def _end(self, seconds: float) -> None:
        is_killed = not self._process.finish(seconds)
        if is_killed:  # at the timeout; release its lease
            self._leasing.release_dead()
        if self._errors is not None:
            line, self._errors = _last_line(self._errors), None
            if not is_killed and self._process.code:
                self._on_failure(f"the rules process failed with {self._exit(line)}")

    def _exit(self, line: str) -> str:
        return f"exit code {self._process.code}: {line or 'no error message'}"

    def _start(self) -> None:
        self._errors = _anonymous_file()
        self._process_started_seconds = self._clock.seconds()
        self._process.start(self._errors)

    def is_worthwhile(self) -> bool:
        """Whether there is anything to judge: training, or a job of some seconds."""
        is_long = self._clock.seconds() - self._started_seconds >= _MIN_JOB_SECONDS
        return is_long or self._has_workers()

    def _has_workers(self) -> bool:
        return bool(self._backend.folders(WORKERS))

    def _check_exit(self) -> None:
        """Check how the last process ended; give up after repeated crashes."""
        assert self._errors is not None
        line, self._errors = _last_line(self._errors), None
        if not self._process.code:
            return
        ran_seconds = self._clock.seconds() - self._process_started_seconds
        self._crashes = 1 if ran_seconds > _STABLE_SECONDS else self._crashes + 1
        self._due = self._clock.seconds() + _RESTART_SECONDS * 2**self._crashes
        if self._crashes == _MAX_CRASHES:
            self._is_off = True
            self._on_failure(
                f"the rules process crashed {_MAX_CRASHES} times; last {self._exit(line)}"
            )


def _anonymous_file() -> IO[bytes]:
    """Open a file in memory if supported, so that no writable disk is needed."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("sonde-watcher"), "w+b")
    return tempfile.TemporaryFile()


def _last_line(errors: IO[bytes]) -> str:
    """Return the last line of a process's error output."""
    with errors:
        errors.seek(max(0, errors.seek(0, 2) - _ERROR_BYTES))
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
