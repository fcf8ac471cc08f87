"""`sonde attach`: records beside a process that somebody else started."""

import os
import select
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

from sonde.agent.recording import Recording
from sonde.agent.registration import Registration
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.masking import mask_command, readable
from sonde.records.job import Attempt, Exit, ExitReason, JobState
from sonde.records.request import Request
from sonde.settings import RunSettings
from sonde.store.presence import this_process

_POLL_SECONDS = 0.5
_STOP_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Attached:
    """A process that was there before us."""

    pid: int
    command: tuple[str, ...]
    folder: str

    @classmethod
    def find(cls, pid: int) -> "Attached":
        """Looks at a running process."""
        if pid <= 0 or pid == os.getpid():
            raise UsageError(f"{pid} is not a process to watch. Give the pid of a running one.")
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError) as error:
            raise UsageError(f"There is no process {pid}.") from error
        except PermissionError as error:
            raise UsageError(f"Process {pid} belongs to another user.") from error
        place = Path(f"/proc/{pid}")
        try:
            words = (place / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            folder = str((place / "cwd").readlink())
        except OSError:
            words, folder = [], "/"
        command = tuple(word.decode(errors="replace") for word in words if word)
        return cls(pid, mask_command(command) or (f"pid-{pid}",), readable(folder))


def attach(
    target: Attached, registration: Registration, settings: RunSettings, clock: SystemClock
) -> Exit:
    """Records until the process ends or a person has seen enough."""
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, lambda *_: enough.set())
    process = _Process(target.pid)
    recording = Recording(registration, settings, clock, process.stop)
    attempt = Attempt(
        node=registration.node,
        number=registration.number,
        start_ns=clock.now_ns(),
        command=target.command,
        folder=target.folder,
        process_pid=target.pid,
        launcher=this_process(),
        interval_seconds=settings.interval_seconds,
    )
    recording.start(attempt)
    while not enough.is_set() and not process.has_ended(_POLL_SECONDS):
        pass
    exit_ = _exit(clock.now_ns(), process.stopped_by, is_over=not enough.is_set())
    recording.finish(exit_)
    return exit_


class _Process:
    """The process, held on to so that its number cannot come to mean another one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor: int | None = None
        self._is_gone = False
        self.stopped_by: str | None = None
        if hasattr(os, "pidfd_open"):
            try:
                self._descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self._is_gone = True
            except OSError:  # a thread's number, or a kernel without it
                self._descriptor = None

    def has_ended(self, patience_seconds: float) -> bool:
        """Waits a moment and tells whether the process is over."""
        if self._is_gone:
            return True
        watched = [] if self._descriptor is None else [self._descriptor]
        is_ready = bool(select.select(watched, [], [], patience_seconds)[0])
        return is_ready or not self._send(0)

    def stop(self, request: Request) -> str:
        """Asks the process to end, and insists after the grace."""
        grace = float(request.arguments.get("grace_seconds", _STOP_GRACE_SECONDS))
        self.stopped_by = request.arguments.get("by", "a request")
        self._send(signal.SIGTERM)
        insist = threading.Timer(grace, self._send, (signal.SIGKILL,))
        insist.daemon = True
        insist.start()
        return f"sent SIGTERM; SIGKILL follows after {grace:g} s if it is still there"

    def _send(self, number: int) -> bool:
        """Whether there still was somebody to send it to."""
        try:
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            else:
                os.kill(self._pid, number)
        except ProcessLookupError:
            return False
        return True


def _exit(end_ns: int, stopped_by: str | None, *, is_over: bool) -> Exit:
    if stopped_by is not None:
        message = f"stopped by {stopped_by}"
        return Exit(JobState.STOPPED, ExitReason.STOPPED, end_ns, message=message)
    message = (
        "the process is over; its exit code is known only to its parent"
        if is_over
        else "the recording was ended; the process runs on"
    )
    return Exit(JobState.ENDED, ExitReason.EXIT, end_ns, message=message)
