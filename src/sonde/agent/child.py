"""Run the command so that its signals, terminal and exit behave as without a launcher.

The command runs in the launcher's process group, so that the terminal, job control and pipes treat
both as one. Signals to the group reach the command directly; signals to the launcher alone are
forwarded once. The signal probe tells them apart. When the command is suspended, the launcher
suspends itself, so that the shell notices.
"""

import contextlib
import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from sonde.agent.signal_probe import FORWARDED_SIGNALS, SignalProbe
from sonde.errors import OutOfResourcesError
from sonde.guard import Guard
from sonde.settings import environment
from sonde.store.presence import is_stopped

_SHELL = "/bin/sh"
# errors of a system that is out of resources, or rejects the size of the environment
_RESOURCE_ERRORS = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.E2BIG}


class Child:
    """The running command.

    Everything that can fail happens before the command starts.

    Args:
        command: The command.
        variables: Its environment.
        on_ready: Called right before the command starts, when it can be run as a child.

    Raises:
        OSError: The command cannot be started.
        OutOfResourcesError: The system lacks resources to run it as a child. This process is
            unchanged and can still be replaced by the command.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._has_started = threading.Event()
        # a thread, because querying the probe takes time
        self._thread = threading.Thread(target=self._forward, name="sonde-signals", daemon=True)
        with contextlib.ExitStack() as undoing:
            try:
                self._probe = SignalProbe()
                undoing.callback(self._probe.close)
                self._signals = _SignalPipe((*FORWARDED_SIGNALS, signal.SIGCONT))
                undoing.callback(self._restore_signals)
                self._thread.start()
                _check_descriptors()
                Guard().attempt("announcement", on_ready, None)
                self._process = _start(command, variables)
            except (OSError, RuntimeError) as error:
                if isinstance(error, OSError) and error.errno not in _RESOURCE_ERRORS:
                    undoing.pop_all()
                    self._end()
                    raise
                reason = getattr(error, "strerror", None) or str(error)
                raise OutOfResourcesError(
                    f"The command cannot be recorded: {reason.lower()}"
                ) from error
            undoing.pop_all()
        self.pid = self._process.pid
        for number in self._signals.received():  # received before the command started
            self.send(number)
        self._has_started.set()

    def wait(self) -> int:
        """Wait for the exit; return the exit code, or minus the signal that killed it."""
        assert self._process is not None
        while True:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._process.returncode = os.waitstatus_to_exitcode(status)
                Guard().call("end of the command", self._end, None)
                return self._process.returncode
            Guard().call("signal probe", lambda: self._probe.watch(self.pid), None)
            os.kill(os.getpid(), signal.SIGSTOP)
            Guard().call("signal probe", lambda: self._probe.watch(0), None)

    def send(self, number: int) -> None:
        """Send a signal to the command, if it is running."""
        if self._process is not None and not self._is_over:
            try:
                os.kill(self._process.pid, number)
            except ProcessLookupError:
                return

    def _forward(self) -> None:
        """Forward signals that reached the launcher but not the command."""
        self._has_started.wait()
        while (received := self._signals.next()) is not None:
            for number in received:
                if not self._is_over and not self._has_reached_command(number):
                    self.send(number)

    def _has_reached_command(self, number: int) -> bool:
        if number == signal.SIGCONT:
            return not is_stopped(self.pid)
        return self._probe.heard(number) and self._is_in_our_group()

    def _is_in_our_group(self) -> bool:
        try:
            return os.getpgid(self.pid) == os.getpgrp()
        except ProcessLookupError:
            return True

    def _end(self) -> None:
        """Stop forwarding: later signals must not change the exit code."""
        self._is_over = True
        self._has_started.set()
        self._signals.close()
        self._thread.join()
        self._probe.close()

    def _restore_signals(self) -> None:
        """Restore the signal handlers: there is no command."""
        self._is_over = True
        self._has_started.set()
        self._signals.restore()
        if self._thread.is_alive():
            self._thread.join()


class _SignalPipe:
    """The signals that this process receives, in any thread.

    Python runs handlers in the main thread only, and a main thread that waits for a child does not
    notice signals of other threads. So signals are read from a wakeup pipe.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        # signals that were ignored stay ignored for both processes
        self._before = {number: signal.getsignal(number) for number in numbers}
        self._numbers = [number for number in numbers if self._before[number] is not signal.SIG_IGN]
        for number in self._numbers:
            signal.signal(number, lambda *_: None)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # it would hide exit codes
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def received(self) -> Sequence[int]:
        """Signals received so far, without waiting."""
        is_ready = bool(select.select([self._reading], [], [], 0)[0])
        return self.next() or () if is_ready else ()

    def next(self) -> Sequence[int] | None:
        """Wait for signals, without duplicates; None when closed."""
        data = os.read(self._reading, 4096)
        return (
            [number for number in dict.fromkeys(data) if number in self._numbers] if data else None
        )

    def restore(self) -> None:
        """Restore the previous handlers."""
        for number in self._numbers:
            signal.signal(number, self._before[number] or signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.close(self._writing)

    def close(self) -> None:
        """Ignore signals from now on, including while Python shuts down."""
        sys.unraisablehook = _ignore_late_signals
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        os.close(self._writing)


def _ignore_late_signals(unraisable: "sys.UnraisableHookArgs") -> None:
    """Suppress Python's message about a signal that arrived just before it was ignored."""
    if not isinstance(unraisable.exc_value, OSError):
        sys.__unraisablehook__(unraisable)


def replace_process(command: list[str]) -> NoReturn:
    """Replace this process with the command.

    Raises:
        OSError: The command cannot be started.
    """
    variables = environment()
    for number in (
        signal.SIGPIPE,
        signal.SIGXFSZ,
    ):  # Python ignores these, and exec would preserve that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, variables)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(_SHELL, _shell_command(command), variables)


def _check_descriptors() -> None:
    """Raise OSError if there are not enough free descriptors to start a process."""
    for descriptor in os.pipe():  # Popen needs as many
        os.close(descriptor)


def _start(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    # posix_spawn would leave two signals ignored
    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc] # noqa: SLF001 — documented
    # inherited descriptors stay open: make's job server and shell redirections use them
    try:
        return subprocess.Popen(command, env=variables, close_fds=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return subprocess.Popen(_shell_command(command), env=variables, close_fds=False)


def _shell_command(command: Sequence[str]) -> list[str]:
    """The shell command for a script without a `#!` line."""
    return [_SHELL, shutil.which(command[0]) or command[0], *command[1:]]
