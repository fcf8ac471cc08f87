"""`sonde attach`: records beside a process that somebody else started."""

import os
import select
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sonde.clock import SystemClock
from sonde.collect.masking import mask_command
from sonde.collect.recording import Recording
from sonde.collect.registration import Registration
from sonde.errors import UsageError
from sonde.records.job import Attempt, Exit, ExitReason, JobState
from sonde.records.request import Request
from sonde.settings import RunSettings
from sonde.store.presence import this_process

_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Attached:
    """A process that was there before us."""

    pid: int
    command: tuple[str, ...]
    folder: str

    @classmethod
    def find(cls, pid: int) -> "Attached":
        """Looks at a running process."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError as error:
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
        return cls(pid, command or (f"pid-{pid}",), folder)


def attach(
    target: Attached, registration: Registration, settings: RunSettings, clock: SystemClock
) -> Exit:
    """Records until the process ends or a person has seen enough."""
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: enough.set())
    stopper = _Stopper(target.pid)
    recording = Recording(registration, settings, clock, stopper)
    attempt = Attempt(
        node=registration.node,
        number=registration.number,
        start_ns=clock.now_ns(),
        command=mask_command(target.command),
        folder=target.folder,
        process_pid=target.pid,
        launcher=this_process(),
        interval_seconds=settings.interval_seconds,
    )
    has_ended = _watch_for_end(target.pid)
    recording.start(attempt)
    while not enough.is_set() and not has_ended():
        pass
    exit_ = _exit(clock.now_ns(), stopper.asked_by, is_over=not enough.is_set())
    recording.finish(exit_)
    return exit_


class _Stopper:
    """Ends the process on request."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.asked_by: str | None = None

    def __call__(self, request: Request) -> str:
        self.asked_by = request.arguments.get("by", "a request")
        os.kill(self._pid, signal.SIGTERM)
        return "sent SIGTERM"


def _watch_for_end(pid: int) -> Callable[[], bool]:
    """A function that waits a moment and tells whether the process is over."""
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(pid)
        return lambda: bool(select.select([descriptor], [], [], _POLL_SECONDS)[0])

    def is_gone() -> bool:
        select.select([], [], [], _POLL_SECONDS)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return is_gone


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
