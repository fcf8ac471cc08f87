"""`sonde run`: starts the command, records beside it, and passes its exit code through."""

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.clock import SystemClock
from sonde.collect.child import Child
from sonde.collect.exits import (
    COMMAND_NOT_EXECUTABLE,
    COMMAND_NOT_FOUND,
    Ending,
    MemoryKills,
    explain,
    shell_code,
)
from sonde.collect.masking import mask_command
from sonde.collect.process_tree import processes_marked
from sonde.collect.recording import Outcome, Recording
from sonde.collect.registration import Registration
from sonde.collect.system import Machine
from sonde.guard import Guard
from sonde.records.job import Attempt, Exit
from sonde.records.request import Request
from sonde.settings import RunSettings, environment
from sonde.store.presence import this_process

STOP_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Launched:
    """What a command came to."""

    code: int
    exit: Exit
    outcome: Outcome
    seconds: float


class Launcher:
    """Runs one command under watch."""

    def __init__(
        self, registration: Registration, settings: RunSettings, clock: SystemClock
    ) -> None:
        self._place = registration
        self._settings = settings
        self._clock = clock
        self._run_id = os.urandom(8).hex()
        self._stopped_by: str | None = None
        self._child: Child | None = None
        self._recording = Recording(registration, settings, clock, self._stop)

    def run(self, command: Sequence[str], collectors: tuple[str, ...] | None) -> Launched:
        """Starts the command, waits for its end, and records both."""
        start_ns = self._clock.now_ns()
        kills = MemoryKills(Machine())
        problem: str | None = None
        try:
            self._child = Child(command, {**environment(), **self._variables()})
        except OSError as error:
            code = COMMAND_NOT_FOUND if _is_missing(error) else COMMAND_NOT_EXECUTABLE
            problem = f"{command[0]}: {(error.strerror or str(error)).lower()}"
        pid = self._child.pid if self._child else 0
        guard = Guard()
        guard.call("recording", lambda: self._begin(command, start_ns, pid, collectors), None)
        if self._child is not None:
            code = self._child.wait()
        ending = Ending(code, self._clock.now_ns(), self._stopped_by, self._left_running())
        exit_ = explain(ending, kills.since(), problem)
        outcome = self._recording.finish(exit_)
        seconds = (ending.end_ns - start_ns) / 1e9
        return Launched(shell_code(code), exit_, outcome, seconds)

    def _begin(
        self,
        command: Sequence[str],
        start_ns: int,
        pid: int,
        collectors: tuple[str, ...] | None,
    ) -> None:
        attempt = Attempt(
            node=self._place.node,
            number=self._place.number,
            start_ns=start_ns,
            command=mask_command(command),
            folder=str(Path.cwd()),
            process_pid=pid,
            launcher=this_process(),
            interval_seconds=self._settings.interval_seconds,
            run_id=self._run_id,
        )
        self._recording.start(attempt, collectors)

    def _variables(self) -> dict[str, str]:
        """What processes of the job need to know to write into the same job on the same clock."""
        return {
            "SONDE_JOB": self._place.job,
            "SONDE_JOB_URI": self._place.backend.uri,
            "SONDE_NODE": self._place.node,
            "SONDE_ATTEMPT": str(self._place.number),
            "SONDE_CLOCK_ANCHOR_NS": str(self._clock.anchor_ns),
            "SONDE_RUN_ID": self._run_id,
        }

    def _stop(self, request: Request) -> str:
        """Asks the command to end, and insists after the grace."""
        grace = float(request.arguments.get("grace_seconds", STOP_GRACE_SECONDS))
        self._stopped_by = request.arguments.get("by", "a request")
        if self._child is not None:
            self._child.send(signal.SIGTERM)
        insist = threading.Timer(grace, self._kill)
        insist.daemon = True
        insist.start()
        return f"sent SIGTERM; SIGKILL follows after {grace:g} s if it is still there"

    def _kill(self) -> None:
        for process in processes_marked(Path("/proc"), f"SONDE_RUN_ID={self._run_id}"):
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self._child is not None:
            self._child.send(signal.SIGKILL)

    def _left_running(self) -> tuple[str, ...]:
        """Processes of the job that outlive its command: daemons, background jobs."""
        found = processes_marked(Path("/proc"), f"SONDE_RUN_ID={self._run_id}")
        return tuple(f"{process.pid} {process.name}" for process in found)


def _is_missing(error: OSError) -> bool:
    return isinstance(error, FileNotFoundError | NotADirectoryError)
