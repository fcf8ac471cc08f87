"""`sonde run`: start the command, record it, and return its exit code."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sonde.agent.child import Child
from sonde.agent.environment import current_folder
from sonde.agent.exit_causes import find_cause
from sonde.agent.exits import (
    Ending,
    Kills,
    MemoryKills,
    code_of_failed_start,
    explain,
    shell_code,
)
from sonde.agent.handover import INJECT_FOLDER, Handover
from sonde.agent.interpreter import why_not_recorded
from sonde.agent.loss_listener import LossListener
from sonde.agent.outcome import Outcome
from sonde.agent.output_tail import OutputTail
from sonde.agent.process_tree import Process, multiprocessing_helpers, processes_marked
from sonde.agent.recording import Recording
from sonde.agent.registration import Registration
from sonde.agent.relay import relay_to
from sonde.agent.system import Machine
from sonde.bounded_calls import call_within
from sonde.clock import NANOSECONDS, SystemClock
from sonde.formats import format_duration
from sonde.guard import Guard
from sonde.masking import MASK, mask_command
from sonde.records.job import Attempt, Exit, Overhead
from sonde.records.request import Request
from sonde.records.worker import Failure
from sonde.settings import RunSettings, environment
from sonde.store.control import PATIENCE
from sonde.store.presence import this_process

STOP_GRACE_SECONDS = 10.0
_INSPECT_SECONDS = 2.0  # time limit for inspecting the machine
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Launched:
    """The result of a command."""

    code: int
    exit: Exit
    outcome: Outcome
    seconds: float
    problem: str | None = None  # why it could not be started


@dataclass(frozen=True, slots=True)
class _Ended:
    """The result of a command before anything is recorded."""

    code: int  # negative for a signal
    start_ns: int
    end_ns: int
    problem: str | None

    def unrecorded(self) -> Launched:
        """Return the result if recording the end fails."""
        exit_ = explain(Ending(self.code, self.end_ns), Kills(None, 0), self.problem)
        outcome = Outcome((), Overhead(0.0, 0, 0.0), is_exit_recorded=False)
        seconds = (self.end_ns - self.start_ns) / NANOSECONDS
        return Launched(shell_code(self.code), exit_, outcome, seconds, self.problem)


class Launcher:
    """Runs and records a command."""

    def __init__(
        self, registration: Registration, settings: RunSettings, clock: SystemClock
    ) -> None:
        self._registration = registration
        self._settings = settings
        self._clock = clock
        self._run_id = os.urandom(8).hex()
        self._mark = f"SONDE_RUN_ID={self._run_id}"
        self._stopped_by: str | None = None
        self._kill_due = 0.0
        self._child: Child | None = None
        self._output: OutputTail | None = None
        self.leaves_report = False  # whether a slow report is left to its process
        self._relay = relay_to(registration, self._run_id, clock)
        self._recording = Recording(registration, settings, clock, self._stop, relay=self._relay)
        self._handover = Handover(registration, settings, clock, self._run_id, self._relay)

    def run(
        self,
        command: Sequence[str],
        on_ready: Callable[[], None],
        *,
        samples_machine: bool = True,
    ) -> Launched:
        """Start the command, wait for its exit, and record both.

        Calls `on_ready` when it can be recorded. From then on, no failure here changes its result.
        Without `samples_machine`, samples only the processes of the job.

        Raises:
            OutOfResourcesError: The command was not started and cannot be recorded.
        """
        start_ns = self._clock.now_ns()
        guard = Guard()
        kills = call_within(
            _INSPECT_SECONDS, "out-of-memory kills", lambda: MemoryKills(Machine()), None
        )
        fully_masked: tuple[str, ...] = (MASK,)
        masked = guard.call("masking", lambda: mask_command(command), fully_masked)
        problem: str | None = None
        try:
            self._child = Child(command, self._variables(), partial(self._announce, on_ready))
        except OSError as error:
            code = code_of_failed_start(error)
            problem = f"{masked[0]}: {(error.strerror or str(error)).lower()}"
        pid = self._child.pid if self._child else 0
        listener = guard.call("lost data of workers", lambda: LossListener(self._run_id), None)
        if listener is not None:
            self._recording.worker_losses = listener.close
        # in a thread: a store that hangs must not delay the handling of the command
        begin = partial(self._begin, masked, start_ns, pid, samples_machine=samples_machine)
        guard.call("recording", lambda: self._recording.begin(begin), None)
        self._start_relay(guard)
        if self._child is not None:
            code = self._child.wait()
        ended = _Ended(code, start_ns, self._clock.now_ns(), problem)
        return guard.call("end", lambda: self._finish(ended, kills), ended.unrecorded())

    def _start_relay(self, guard: Guard) -> None:
        """Start sending to an object store."""
        if self._relay is not None:
            guard.call("relay", self._relay.start, None)
            guard.call("relay standby", self._relay.start_standby, None)

    def _announce(self, on_ready: Callable[[], None]) -> None:
        on_ready()
        self._output = OutputTail()

    def _variables(self) -> dict[str, str]:
        """The command's environment, with the variables of the hook if possible."""
        variables = environment()
        path = variables.get("PYTHONPATH")
        empty: dict[str, str] = {}
        added = Guard().call("handover", lambda: self._handover.variables(path), empty)
        return {**variables, **added}

    def _finish(self, ended: "_Ended", kills: MemoryKills | None) -> Launched:
        if self._child is not None:
            Guard().call("remaining processes", self._end_remaining_processes, None)
        left_running = call_within(_INSPECT_SECONDS, "left running", self._left_running, ())
        end_ns = self._clock.now_ns()
        ending = Ending(ended.code, end_ns, self._stopped_by, left_running)
        new_kills = Kills(None, 0)
        if kills is not None:
            new_kills = call_within(_INSPECT_SECONDS, "out-of-memory kills", kills.since, new_kills)
        cause = self._cause() if ended.code else None
        exit_ = explain(ending, new_kills, ended.problem, cause)
        if self._output is not None:
            tail = call_within(_INSPECT_SECONDS, "output", self._output.lines, {})
            exit_ = replace(exit_, output_tail=tail)
        outcome = self._handover.finish(self._recording, exit_, leaves_report=self.leaves_report)
        seconds = (end_ns - ended.start_ns) / NANOSECONDS
        return Launched(shell_code(ended.code), exit_, outcome, seconds, ended.problem)

    def _begin(
        self,
        command: Sequence[str],
        start_ns: int,
        pid: int,
        *,
        samples_machine: bool,
    ) -> None:
        attempt = Attempt(
            node=self._registration.node,
            number=self._registration.number,
            start_ns=start_ns,
            command=tuple(command),
            folder=current_folder(),
            process_pid=pid,
            launcher=this_process(),
            interval_seconds=self._settings.interval_seconds,
            price_per_gpu_hour=self._settings.price_per_gpu_hour,
            run_id=self._run_id,
            spool=str(self._relay.spool.folder) if self._relay else "",
        )
        self._recording.start(attempt, samples_machine=samples_machine)
        reason = Guard().call(
            "the interpreter", lambda: why_not_recorded(command, INJECT_FOLDER), None
        )
        if reason is not None:
            self._recording.report_missing_hook(reason)

    def _cause(self) -> Failure | None:
        """Return the failure that the processes of the command recorded."""
        if self._child is None:
            return None
        pid, attempt = self._child.pid, (self._registration.node, self._registration.number)
        backend = self._relay.source if self._relay else self._registration.backend
        return call_within(
            _INSPECT_SECONDS, "cause", lambda: find_cause(backend, attempt, pid), None
        )

    def _stop(self, request: Request) -> str:
        """Send SIGTERM to the command, then SIGKILL after the grace period."""
        grace = float(request.arguments.get("grace_seconds", STOP_GRACE_SECONDS))
        self._stopped_by = self._stopped_by or request.arguments.get("by", "a request")
        patience = float(request.arguments.get(PATIENCE, 0.0))
        self._kill_due = self._clock.seconds() + patience + grace
        _start_timer(patience + grace, self._kill)
        if patience:
            _start_timer(patience, self._terminate)
            wait = format_duration(patience)
            return f"waiting for the job to stop; SIGTERM follows after {wait} if still running"
        self._terminate()
        return f"SIGTERM sent; SIGKILL follows after {format_duration(grace)} if still running"

    def _terminate(self) -> None:
        if self._child is not None:
            self._child.send(signal.SIGTERM)

    def _kill(self) -> None:
        self._signal_marked(signal.SIGKILL)
        if self._child is not None:
            self._child.send(signal.SIGKILL)

    def _end_remaining_processes(self) -> None:
        """Terminate the remaining processes of a stopped command within the grace period."""
        if self._stopped_by is None or not self._signal_marked(signal.SIGTERM):
            return
        never = threading.Event()
        while self._job_processes() and self._clock.seconds() < self._kill_due:
            self._clock.wait(never, _POLL_SECONDS)
        self._signal_marked(signal.SIGKILL)

    def _signal_marked(self, number: int) -> bool:
        """Send a signal to all processes of the job; return whether there were any."""
        processes = self._job_processes()
        for process in processes:
            try:
                os.kill(process.pid, number)
            except (ProcessLookupError, PermissionError):
                continue
        return bool(processes)

    def _job_processes(self) -> list[Process]:
        """Return all visible processes of the job."""
        processes = processes_marked(Path("/proc"), self._mark)
        return [process for process in processes if process.is_alive]

    def _left_running(self) -> tuple[str, ...]:
        """Return processes that outlive the command: daemons and background jobs."""
        marked = self._job_processes()
        helpers = multiprocessing_helpers(Path("/proc"), marked)
        survivors = [process for process in marked if process.pid not in helpers]
        return tuple(f"{process.pid} {process.name}" for process in survivors)


def _start_timer(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
