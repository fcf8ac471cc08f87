"""`sonde attach`: record a process that is already running."""

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
from sonde.formats import format_duration
from sonde.masking import mask_command, readable
from sonde.records.job import Attempt, Exit, ExitReason, JobState
from sonde.records.request import Request
from sonde.settings import RunSettings
from sonde.store.presence import this_process

_POLL_SECONDS = 0.5
_STOP_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class AttachTarget:
    """A running process to record."""

    pid: int
    command: tuple[str, ...]
    folder: str

    @classmethod
    def find(cls, pid: int) -> "AttachTarget":
        """Read the command and folder of a running process."""
        if pid <= 0 or pid == os.getpid():
            raise UsageError(
                f"{pid} cannot be recorded. Specify the PID of another running process."
            )
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError) as error:
            raise UsageError(f"Process {pid} does not exist.") from error
        except PermissionError as error:
            raise UsageError(f"Process {pid} belongs to another user.") from error
        proc_folder = Path(f"/proc/{pid}")
        try:
            words = (proc_folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            folder = str((proc_folder / "cwd").readlink())
        except OSError:
            words, folder = [], "/"
        command = tuple(word.decode(errors="replace") for word in words if word)
        return cls(pid, mask_command(command) or (f"pid-{pid}",), readable(folder))


def attach(
    target: AttachTarget, registration: Registration, settings: RunSettings, clock: SystemClock
) -> Exit:
    """Record until the process exits or the user stops the recording."""
    stop_requested = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, lambda *_: stop_requested.set())
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
        price_per_gpu_hour=settings.price_per_gpu_hour,
    )
    recording.start(attempt)
    while not stop_requested.is_set() and not process.has_ended(_POLL_SECONDS):
        pass
    exit_ = _exit(clock.now_ns(), process.stopped_by, is_over=not stop_requested.is_set())
    recording.finish(exit_)
    return exit_


class _Process:
    """The recorded process, held by a file descriptor, so that its PID cannot be reused."""

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
            except OSError:  # the ID of a thread, or not supported by the kernel
                self._descriptor = None

    def has_ended(self, patience_seconds: float) -> bool:
        """Wait for the process to exit, up to a timeout; return whether it has."""
        if self._is_gone:
            return True
        watched = [] if self._descriptor is None else [self._descriptor]
        is_ready = bool(select.select(watched, [], [], patience_seconds)[0])
        return is_ready or not self._send(0)

    def stop(self, request: Request) -> str:
        """Send SIGTERM, then SIGKILL after the grace period."""
        grace = float(request.arguments.get("grace_seconds", _STOP_GRACE_SECONDS))
        self.stopped_by = request.arguments.get("by", "a request")
        self._send(signal.SIGTERM)
        kill_timer = threading.Timer(grace, self._send, (signal.SIGKILL,))
        kill_timer.daemon = True
        kill_timer.start()
        return f"SIGTERM sent; SIGKILL follows after {format_duration(grace)} if still running"

    def _send(self, number: int) -> bool:
        """Send a signal; return whether the process still existed."""
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
        "the process exited; only its parent can read the exit code"
        if is_over
        else "the recording was stopped; the process is still running"
    )
    return Exit(JobState.ENDED, ExitReason.EXIT, end_ns, message=message)
