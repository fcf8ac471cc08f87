"""Runs the command as if nobody watched: its signals, its terminal and its exit are its own.

The command runs in the launcher's own process group, so that the terminal, the shell's job control
and pipes treat both as one. Signals that go to the whole group reach the command by themselves;
those sent to the launcher alone are handed on, once: the canary tells them apart. When the command
is suspended the launcher suspends itself, so that the shell sees it.
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
from collections.abc import Mapping, Sequence
from typing import NoReturn

from sonde.agent.signal_probe import HEARD, Canary
from sonde.errors import NotFollowedError
from sonde.guard import Guard
from sonde.settings import environment
from sonde.store.presence import is_stopped

_SHELL = "/bin/sh"
# what the system answers that has no more of something, or takes no longer environment
_LACKS = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.E2BIG}


class Child:
    """The command while it runs.

    All that can fail is done before the command starts.

    Raises:
        OSError: The command cannot be started.
        NotFollowedError: The system lacks what it takes to have it as a child; this process is as
            it was before, and can still become the command.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._has_started = threading.Event()
        # a thread, because asking the canary takes a moment, and nothing may wait for it
        self._postman = threading.Thread(target=self._hand_on, name="sonde-signals", daemon=True)
        with contextlib.ExitStack() as undoing:
            try:
                self._canary = Canary()
                undoing.callback(self._canary.close)
                self._arrivals = _Arrivals((*HEARD, signal.SIGCONT))
                undoing.callback(self._forget_signals)
                self._postman.start()
                self._process = _start(command, variables)
            except (OSError, RuntimeError) as error:
                if isinstance(error, OSError) and error.errno not in _LACKS:
                    undoing.pop_all()
                    self._end()
                    raise
                reason = getattr(error, "strerror", None) or str(error)
                raise NotFollowedError(
                    f"The command cannot be watched: {reason.lower()}"
                ) from error
            undoing.pop_all()
        self.pid = self._process.pid
        for number in self._arrivals.so_far():  # before there was a command to have them
            self.send(number)
        self._has_started.set()

    def wait(self) -> int:
        """Waits for the end; the exit code, or minus the signal that killed it."""
        assert self._process is not None
        while True:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._process.returncode = os.waitstatus_to_exitcode(status)
                Guard().call("the end of the command", self._end, None)
                return self._process.returncode
            Guard().call("the canary", lambda: self._canary.watch(self.pid), None)
            os.kill(os.getpid(), signal.SIGSTOP)
            Guard().call("the canary", lambda: self._canary.watch(0), None)

    def send(self, number: int) -> None:
        """Sends a signal to the command, if it runs."""
        if self._process is not None and not self._is_over:
            try:
                os.kill(self._process.pid, number)
            except ProcessLookupError:
                return

    def _hand_on(self) -> None:
        """The postman's thread: sends on what has come to us and not to the command."""
        self._has_started.wait()
        while (came := self._arrivals.next()) is not None:
            for number in came:
                if not self._is_over and not self._has_reached_it(number):
                    self.send(number)

    def _has_reached_it(self, number: int) -> bool:
        if number == signal.SIGCONT:
            return not is_stopped(self.pid)
        return self._canary.heard(number) and self._is_in_our_group()

    def _is_in_our_group(self) -> bool:
        try:
            return os.getpgid(self.pid) == os.getpgrp()
        except ProcessLookupError:
            return True

    def _end(self) -> None:
        """From here on only the exit code counts: no late signal may change it."""
        self._is_over = True
        self._has_started.set()
        self._arrivals.close()
        self._postman.join()
        self._canary.close()

    def _forget_signals(self) -> None:
        """There is no command: signals do what they did before."""
        self._is_over = True
        self._has_started.set()
        self._arrivals.restore()
        if self._postman.is_alive():
            self._postman.join()


class _Arrivals:
    """The signals that come to this process, to whichever thread the kernel hands them.

    Python runs handlers in the main thread only, and a main thread that waits for a child does not
    notice that another thread was interrupted. So what arrives is read from a pipe.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        # what was ignored before stays ignored for both
        self._before = {number: signal.getsignal(number) for number in numbers}
        self._numbers = [one for one in numbers if self._before[one] is not signal.SIG_IGN]
        for number in self._numbers:
            signal.signal(number, lambda *_: None)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # it would hide exit codes from us
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def so_far(self) -> Sequence[int]:
        """What has come already, without waiting."""
        has_some = bool(select.select([self._reading], [], [], 0)[0])
        return self.next() or () if has_some else ()

    def next(self) -> Sequence[int] | None:
        """Waits for the next ones, each once; None when it is closed."""
        came = os.read(self._reading, 4096)
        return [one for one in dict.fromkeys(came) if one in self._numbers] if came else None

    def restore(self) -> None:
        """Leaves them to whoever had them before."""
        for number in self._numbers:
            signal.signal(number, self._before[number] or signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.close(self._writing)

    def close(self) -> None:
        """Ignores them from now on: Python takes its own handlers down on its way out."""
        sys.unraisablehook = _without_late_signals
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        os.close(self._writing)


def _without_late_signals(unraisable: "sys.UnraisableHookArgs") -> None:
    """Of a signal that came just before it was ignored, Python would complain aloud."""
    if not isinstance(unraisable.exc_value, OSError):
        sys.__unraisablehook__(unraisable)


def become(command: list[str]) -> NoReturn:
    """Turns this process into the command, as if we had never been there.

    Raises:
        OSError: The command cannot be started.
    """
    variables = environment()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and exec keeps that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, variables)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve(_SHELL, _for_the_shell(command), variables)


def _start(command: Sequence[str], variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    # the C library's posix_spawn leaves two signals ignored that were not
    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc] # noqa: SLF001 — documented
    # inherited descriptors stay open: make's job server and shell redirections use them
    try:
        return subprocess.Popen(command, env=variables, close_fds=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return subprocess.Popen(_for_the_shell(command), env=variables, close_fds=False)


def _for_the_shell(command: Sequence[str]) -> list[str]:
    """A script without a `#!` line, which shells and execvp hand to the shell."""
    return [_SHELL, shutil.which(command[0]) or command[0], *command[1:]]
